//! The exit codes of commands, and the errors that they print.

use std::path::Path;
use std::process::ExitCode;
use std::{fmt, iter};

use mgp_discovery::config::{ConfigError, EditError};
use mgp_discovery::secrets::SecretStoreError;
use mgp_types::mgp::Recovery;
use mgp_types::{Error, Object, Origin, RawJson, code};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::printable;
use crate::StartError;

/// The outcome of a command, as the exit code that scripts see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// The command did what it was asked to.
    Done = 0,
    /// The command line or the configuration is wrong.
    Usage = 1,
    /// The caller may not do this.
    Auth = 3,
    /// The kernel or a server cannot be reached.
    Unreachable = 4,
    /// The tool failed, or a check found something that is not in order.
    Tool = 5,
    /// A person has to approve the action first.
    Waiting = 6,
}

/// An error that a command reports, and its JSON form.
#[derive(Debug, Serialize)]
pub struct Failure {
    /// The exit code.
    #[serde(skip)]
    pub exit: Exit,
    /// The code of the error: a number of MGP or JSON-RPC if a peer sent the error, or else a word.
    code: FailureCode,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The `data` of an error that a peer sent.
    #[serde(skip)]
    data: Option<RawJson>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum FailureCode {
    Number(i64),
    Word(Exit),
}

/// The result of what a command does: its exit code, unless another type is named, or the failure that it reports.
pub type Result<T = Exit, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Creates a failure with this exit code.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, code: FailureCode::Word(exit), message: message.into(), hint: None, data: None }
    }

    /// Creates a failure of what the user wrote.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Creates a failure to reach something.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self::new(Exit::Unreachable, message)
    }

    /// Returns the failure of a command that cannot use a file.
    pub fn file(path: &Path, error: impl fmt::Display) -> Self {
        Self::usage(format!("{}: {error}", path.display()))
    }

    /// Returns a function that makes the failure of an error, whose text follows `what`.
    pub fn with_error<E: fmt::Display>(what: &str) -> impl Fn(E) -> Self {
        move |error| Self::usage(format!("{what}: {error}"))
    }

    mgp_types::setters! { self =>
        /// Adds a hint on what to do next.
        pub fn hint(hint: impl Into<String>) => self.hint = Some(hint.into());

        /// Returns this failure with another message.
        pub fn with_message(message: String) => self.message = message;
    }

    pub(crate) fn data<T: DeserializeOwned>(&self) -> Option<T> {
        self.data.as_ref()?.to().ok()
    }

    /// Returns what is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what to do next.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error.code() {
            code::PERMISSION_DENIED | code::ACCESS_DENIED | code::AUTH_REQUIRED | code::AUTH_EXPIRED => {
                Exit::Auth
            }
            _ if matches!(error.origin(), Origin::Connection | Origin::Timeout) => Exit::Unreachable,
            code::SERVER_NOT_READY
            | code::SERVER_DRAINING
            | code::SERVER_RESTARTING
            | code::UPSTREAM_UNAVAILABLE
            | code::TIMEOUT => Exit::Unreachable,
            code::INVALID_PARAMS
            | code::METHOD_NOT_FOUND
            | code::INVALID_REQUEST
            | code::TOOL_NOT_FOUND
            | code::TOOL_DISABLED => Exit::Usage,
            _ => Exit::Tool,
        };
        let message = with_causes(error.message(), &error);
        let hint = error.recovery().as_ref().and_then(advice);
        Self { exit, code: FailureCode::Number(error.code()), message, hint, data: error.data().cloned() }
    }
}

// The severity at the beginning of the text is removed, because the output adds its own.
mgp_types::convert!(ConfigError => Failure, error => {
    let text = error.to_string();
    let failure = Self::usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    failure.hint("`mgp config reference` lists all keys, `--config` names another file")
});

mgp_types::convert!(EditError => Failure, error => match error {
    EditError::Config(error) => error.into(),
    error => Self::usage(error.to_string().trim_end()),
});

mgp_types::convert!(StartError => Failure, error => Self::usage(with_causes(&error.to_string(), &error)));

mgp_types::convert!(SecretStoreError => Failure, error => Self::usage(error.to_string()));

/// Returns the message of an error with those of its causes, as far as they say more.
pub fn with_causes(message: &str, error: &dyn std::error::Error) -> String {
    let mut message = message.to_owned();
    for cause in iter::successors(error.source(), |&cause| cause.source()).map(ToString::to_string) {
        if !message.ends_with(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// Returns a peer's advice on trying again, as a text for people.
fn advice(recovery: &Recovery) -> Option<String> {
    let again = recovery.may_retry().then(|| match recovery.retry_after_ms {
        Some(wait) => format!("try again in {}", seconds(wait)),
        None => "the same command may succeed later".to_owned(),
    });
    let instead = recovery.fallback_tool.iter();
    let instead = instead.map(|tool| format!("`mgp call {}` may do instead", printable(tool)));
    let said = recovery.details.as_ref().and_then(|details| Object::from_raw(details).ok());
    // Servers use different names for advice to people.
    let text = said.and_then(|said| ADVICE.iter().find_map(|name| Some(said.text(name)?.into_owned())));
    let text = text.map(|text| printable(&text));
    let hints: Vec<_> = again.into_iter().chain(instead).chain(text).collect();
    (!hints.is_empty()).then(|| hints.join("; "))
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

mgp_types::convert!(Exit => ExitCode, exit => Self::from(exit as u8));

#[cfg(test)]
mod tests {
    use mgp_types::mgp::Category;

    use super::*;

    fn hint(recovery: Recovery) -> Option<String> {
        let error = Error::new(code::RATE_LIMITED, "busy").with_recovery(recovery);
        Failure::from(error).advice().map(str::to_owned)
    }

    #[test]
    fn causes_are_told_once_and_the_code_is_not_told() {
        let disk = || std::io::Error::other("the disk is full");
        for message in ["it cannot be kept: the disk is full", "it cannot be kept"] {
            let failure = Failure::from(Error::internal(message).with_source(disk()));
            assert_eq!(failure.message(), "it cannot be kept: the disk is full");
        }
    }

    #[test]
    fn what_a_server_says_about_trying_again_is_a_hint() {
        let soon = Recovery::new(Category::Resource, true).with_retry_after_ms(1500);
        assert_eq!(hint(soon.clone()).as_deref(), Some("try again in 1.5 s"));
        let mut elsewhere = soon;
        elsewhere.fallback_tool = Some("mirror.read".into());
        elsewhere.details = RawJson::parse(r#"{"hint":"ask for less\u001b[2K"}"#).ok();
        let hint_text = hint(elsewhere).unwrap();
        assert_eq!(
            hint_text,
            "try again in 1.5 s; `mgp call mirror.read` may do instead; ask for less\\u{1b}[2K"
        );
        assert_eq!(hint(Recovery::new(Category::Security, false)), None);
    }
}
