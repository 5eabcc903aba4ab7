//! The exit codes of commands, and the errors that they print.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind;
use mgp_discovery::config::ConfigError;
use mgp_types::mgp::Recovery;
use mgp_types::{Error, Object, Origin, RawJson, code};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::output::{Global, Output, printable};

/// The outcome of a command, as the exit code that scripts see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// 0: the command did what it was asked to.
    Done,
    /// 1: the command line or the configuration is wrong.
    Usage,
    /// 3: the caller may not do this.
    Auth,
    /// 4: the kernel or a server cannot be reached.
    Unreachable,
    /// 5: the tool failed, or a check found something that is not in order.
    Tool,
    /// 6: a person has to approve the action first.
    Waiting,
}

/// An error that a command reports.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    /// The code of the error: a number of MGP or JSON-RPC if a peer sent the error, or else a word.
    code: FailureCode,
    message: String,
    hint: Option<String>,
    /// The `data` of an error that a peer sent.
    data: Option<RawJson>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum FailureCode {
    Number(i64),
    Word(&'static str),
}

/// The JSON form of an error, which `--json` prints on standard error in one line.
#[derive(Debug, Serialize)]
pub(super) struct WrittenFailure<'a> {
    error: WrittenError<'a>,
}

#[derive(Debug, Serialize)]
struct WrittenError<'a> {
    code: FailureCode,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl Failure {
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, code: FailureCode::Word(exit.word()), message: message.into(), hint: None, data: None }
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Adds a hint on what to do next.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns this failure with another message.
    pub(super) fn told(self, message: String) -> Self {
        Self { message, ..self }
    }

    /// Returns the failure for a configuration that cannot be used. The severity at the beginning of the error's text
    /// is removed, because the output adds its own.
    pub(super) fn configuration(error: &ConfigError) -> Self {
        let text = error.to_string();
        let text = text.trim_end();
        Self::usage(text.strip_prefix("error: ").unwrap_or(text))
    }

    pub(super) fn data<T: DeserializeOwned>(&self) -> Option<T> {
        self.data.as_ref()?.to().ok()
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub(super) fn written(&self) -> WrittenFailure<'_> {
        let error =
            WrittenError { code: self.code.clone(), message: &self.message, hint: self.hint.as_deref() };
        WrittenFailure { error }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match (error.origin(), error.code()) {
            (_, code::PERMISSION_DENIED | code::ACCESS_DENIED | code::AUTH_REQUIRED | code::AUTH_EXPIRED) => {
                Exit::Auth
            }
            (Origin::Connection | Origin::Timeout, _)
            | (
                _,
                code::SERVER_NOT_READY
                | code::SERVER_DRAINING
                | code::SERVER_RESTARTING
                | code::UPSTREAM_UNAVAILABLE
                | code::TIMEOUT,
            ) => Exit::Unreachable,
            (
                _,
                code::INVALID_PARAMS
                | code::METHOD_NOT_FOUND
                | code::INVALID_REQUEST
                | code::TOOL_NOT_FOUND
                | code::TOOL_DISABLED,
            ) => Exit::Usage,
            _ => Exit::Tool,
        };
        let mut message = error.message().to_owned();
        let mut cause = std::error::Error::source(&error);
        while let Some(source) = cause {
            message = format!("{message}: {source}");
            cause = source.source();
        }
        let hint = error.recovery().as_ref().and_then(advice);
        Self { exit, code: FailureCode::Number(error.code()), message, hint, data: error.data().cloned() }
    }
}

/// Returns a peer's advice on trying again, as a text for people.
fn advice(recovery: &Recovery) -> Option<String> {
    let mut told = Vec::new();
    match (recovery.may_retry(), recovery.retry_after_ms) {
        (true, Some(wait)) => told.push(format!("try again in {}", seconds(wait))),
        (true, None) => told.push("the same command may succeed later".to_owned()),
        (false, _) => {}
    }
    if let Some(tool) = &recovery.fallback_tool {
        told.push(format!("`mgp call {}` may do instead", printable(tool)));
    }
    if let Some(details) = &recovery.details {
        let said = Object::from_raw(details).ok();
        // Servers use different names for advice to people.
        let text = said.and_then(|said| ADVICE.iter().find_map(|name| Some(said.text(name)?.into_owned())));
        told.extend(text.map(|text| printable(&text)));
    }
    (!told.is_empty()).then(|| told.join("; "))
}

fn seconds(millis: u64) -> String {
    match (millis / 1000, millis % 1000) {
        (seconds, 0) => format!("{seconds} s"),
        (0, millis) => format!("{millis} ms"),
        (seconds, millis) => format!("{seconds}.{} s", millis / 100),
    }
}

/// The members of a peer's details that may hold advice for people, the first ones preferred.
const ADVICE: [&str; 6] = ["hint", "help", "suggestion", "action", "recovery", "resolution"];

impl Exit {
    /// Returns the exit code as a number.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Usage => 1,
            Self::Auth => 3,
            Self::Unreachable => 4,
            Self::Tool => 5,
            Self::Waiting => 6,
        }
    }

    /// Returns the kind of failure of a command that ended with this exit code.
    pub(super) const fn of_number(number: Option<u64>) -> Self {
        match number {
            Some(3) => Self::Auth,
            Some(4) => Self::Unreachable,
            Some(6) => Self::Waiting,
            Some(5) => Self::Tool,
            _ => Self::Usage,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Usage => "usage",
            Self::Auth => "auth",
            Self::Unreachable => "unreachable",
            Self::Tool => "tool",
            Self::Waiting => "waiting",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

/// Prints why a command line is invalid, or the help that it asks for.
pub(super) fn misused(error: &clap::Error, args: &[OsString]) -> ExitCode {
    // Standard output may be closed, and then nobody reads the help.
    if !error.use_stderr() {
        let _ = error.print();
        return Exit::Done.into();
    }
    let is_json = args.iter().any(|arg| arg == "--json");
    if let Some(meant) = lacks_dashes(error, args) {
        let failure = Failure::usage("the command of a server stands behind `--`")
            .hint(format!("did you mean `{meant}`?"));
        let global = Global { json: is_json, ..Global::default() };
        Output::new(&global).failure(&failure);
    } else if is_json {
        let text = error.render().to_string();
        let text = text.trim_start_matches("error: ");
        let (message, hint) = text.split_once("\n\n").unwrap_or((text, ""));
        let mut failure = Failure::usage(message.trim());
        if !hint.trim().is_empty() {
            failure = failure.hint(hint.trim());
        }
        let line = serde_json::to_string(&failure.written()).unwrap_or_default();
        let _ = writeln!(std::io::stderr(), "{line}");
    } else {
        let _ = error.print();
    }
    Exit::Usage.into()
}

/// Returns the command that is meant by an `mgp add NAME COMMAND` without `--`.
fn lacks_dashes(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let words: Vec<&str> = args.iter().skip(1).map(|arg| arg.to_str()).collect::<Option<_>>()?;
    let (["add", name, command @ ..], ErrorKind::UnknownArgument) = (&*words, error.kind()) else {
        return None;
    };
    let is_meant =
        !name.starts_with('-') && command.first()?.starts_with(|c: char| c != '-') && !words.contains(&"--");
    is_meant.then(|| format!("mgp add {name} -- {}", command.join(" ")))
}

#[cfg(test)]
mod tests {
    use mgp_types::mgp::Category;

    use super::*;

    fn hint(recovery: Recovery) -> Option<String> {
        let error = Error::new(code::RATE_LIMITED, "busy").with_recovery(recovery);
        Failure::from(error).advice().map(str::to_owned)
    }

    #[test]
    fn what_a_server_says_about_trying_again_is_a_hint() {
        let soon = Recovery::new(Category::Resource, true).with_retry_after_ms(1500);
        assert_eq!(hint(soon.clone()).as_deref(), Some("try again in 1.5 s"));
        let mut elsewhere = soon;
        elsewhere.fallback_tool = Some("mirror.read".into());
        elsewhere.details = RawJson::parse(r#"{"hint":"ask for less\u001b[2K"}"#).ok();
        let told = hint(elsewhere).unwrap();
        assert_eq!(told, "try again in 1.5 s; `mgp call mirror.read` may do instead; ask for less\\u{1b}[2K");
        assert_eq!(hint(Recovery::new(Category::Security, false)), None);
    }
}
