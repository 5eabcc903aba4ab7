//! An attempt to connect to a server, and why it fails, in words for operators: what happened, to which program or
//! address, what the program wrote, and what to do about it.
//!
//! Known failures of programs are data in `known_failures.txt`. A line on standard output that is no message does not
//! end a start, because many servers greet before they serve. No error answers such a line: a program that reads the
//! answer as input would answer with its next line.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::clients::{args_without_secrets, line_without_secrets, without_secrets};
use mgp_discovery::config::model::{ServerConfig, usual};
use mgp_types::{Error, Origin};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::terminal::with_causes;

mgp_types::with_defaults! {
    /// An attempt to connect to a server: its beginning, and what the program has written since.
    #[derive(Clone)]
    pub(super) struct StartAttempt {
        began: Instant = Instant::now(),
        /// The time that it may take.
        patience: Duration = Duration::from_millis(usual::STARTUP_TIMEOUT_MS),
        /// The number of programs that start at the same time, while this one waits for that.
        queued_behind: Option<usize> = None,
        pub(super) output: StderrTail = StderrTail::default(),
    }
}

impl StartAttempt {
    /// Returns an attempt that begins now and may take this time.
    pub(super) fn within(patience: Duration) -> Self {
        Self { patience, ..Self::default() }
    }

    /// Returns an attempt that waits until fewer than `places` programs start.
    pub(super) fn in_queue(places: usize) -> Self {
        Self { queued_behind: Some(places), ..Self::default() }
    }

    /// Returns why the attempt failed with `error`, after which a program had this exit status.
    pub(super) fn failure(&self, config: &ServerConfig, exit: Option<ExitStatus>, error: &Error) -> String {
        let chain = || with_causes(error.message(), error);
        let what = match (&config.command, cause(error), exit) {
            _ if error.origin() == Origin::Timeout => self.silence(error.message()),
            (Some(program), Some(io::ErrorKind::NotFound), _) => {
                format!("{} (tried: `{}`)", missing(config, program), command_line(config))
            }
            (Some(program), Some(io::ErrorKind::PermissionDenied), _) if Path::new(program).is_dir() => {
                format!("`{program}` is a folder, and no program")
            }
            (Some(_), None, Some(status)) if error.origin() == Origin::Connection => {
                format!("`{}` ended with {status} before it answered", command_line(config))
            }
            (Some(_), ..) => format!("`{}`: {}", command_line(config), chain()),
            (None, ..) => match &config.url {
                Some(url) => format!("{}: {}", without_secrets("url", url), chain()),
                None => chain(),
            },
        };
        self.message(&what)
    }

    /// Returns what is known of an attempt that takes longer than most.
    pub(super) fn delay(&self) -> Option<String> {
        if let Some(places) = self.queued_behind {
            return Some(format!("in the queue: at most {places} servers start at the same time"));
        }
        let since = self.began.elapsed();
        (since >= LATE).then(|| self.message(&self.silence(&format!("no answer for {} s", since.as_secs()))))
    }

    fn silence(&self, what: &str) -> String {
        let secs = self.patience.as_secs_f64();
        format!(
            "{what}; it may take {secs} s to start: raise `startup_timeout_ms` in its `[servers.limits]`, or in `[limits]` \
             for all servers"
        )
    }

    /// Returns `what` happened with the lines that the program wrote last, and what to do about that.
    pub(super) fn message(&self, what: &str) -> String {
        let lines = self.output.last(SEARCHED_LINES);
        let written = match self.output.first_stray() {
            Some(stray) => format!(
                "; it wrote `{}` to its standard output, which is for messages of MCP only: have it log to its standard error",
                cut(&stray)
            ),
            None if lines.is_empty() => String::new(),
            None => {
                let last: Vec<_> = lines.iter().rev().take(SHOWN_LINES).rev().map(|line| cut(line)).collect();
                format!("; its last lines: `{}`", last.join("` `"))
            }
        };
        let advice = advice(&format!("{what}\n{}", lines.join("\n")));
        let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
        format!("{what}{written}{advice}")
    }
}

/// The time after which a start is longer than most.
const LATE: Duration = Duration::from_secs(5);
const SEARCHED_LINES: usize = 20;
const SHOWN_LINES: usize = 3;
const SHOWN_CHARS: usize = 200;

/// Returns what is not there of the program that was to be started.
fn missing(config: &ServerConfig, program: &str) -> String {
    match config.cwd.as_deref().filter(|folder| !Path::new(folder).is_dir()) {
        Some(folder) => format!("there is no folder `{folder}`, the `cwd` of the server"),
        None if program.contains(char::is_whitespace) => {
            format!("there is no program that is called `{program}`, blanks included")
        }
        None if !program.contains('/') => format!("there is no program `{program}` in PATH"),
        None if Path::new(program).exists() => {
            format!("the interpreter that the first line of `{program}` names does not exist")
        }
        None => format!("there is no file `{program}`"),
    }
}

fn command_line(config: &ServerConfig) -> String {
    let words = config.command.iter().cloned().chain(args_without_secrets(&config.args));
    cut(&words.collect::<Vec<_>>().join(" "))
}

fn cause(error: &Error) -> Option<io::ErrorKind> {
    std::error::Error::source(error)?.downcast_ref::<io::Error>().map(io::Error::kind)
}

fn cut(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Returns what to do about a failure that is known by something in its `text`.
fn advice(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase();
    let rows = KNOWN_FAILURES.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|row| row.split_once(" => "))
        .find_map(|(signs, advice)| signs.split(" | ").any(|sign| text.contains(sign)).then_some(advice))
}

const KNOWN_FAILURES: &str = include_str!("known_failures.txt");

/// The last lines that a server wrote, with whatever looks like a secret as `***`. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<StderrLines>>);

#[derive(Default)]
struct StderrLines {
    lines: VecDeque<Box<str>>,
    bytes: usize,
    /// The first line on standard output that was no message.
    first_stray: Option<Box<str>>,
}

impl StderrTail {
    /// Keeps a line, and drops the oldest ones when there are too many.
    pub(crate) fn push(&self, line: &str) {
        let line = line_without_secrets(line);
        let mut kept = self.0.lock();
        kept.bytes += line.len();
        kept.lines.push_back(line.into());
        while kept.lines.len() > MAX_LINES || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.lines.pop_front() else { break };
            kept.bytes -= oldest.len();
        }
    }

    /// Keeps a line of standard output that is no message.
    pub(super) fn push_stray(&self, line: &str) {
        self.push(&format!("(standard output) {line}"));
        self.0.lock().first_stray.get_or_insert_with(|| line_without_secrets(line).into());
    }

    /// Returns the first line on standard output that was no message.
    pub(super) fn first_stray(&self) -> Option<Box<str>> {
        self.0.lock().first_stray.clone()
    }

    /// Returns the last `count` lines, the oldest first.
    pub(crate) fn last(&self, count: usize) -> Vec<String> {
        let kept = self.0.lock();
        let skipped = kept.lines.len().saturating_sub(count);
        kept.lines.iter().skip(skipped).map(ToString::to_string).collect()
    }
}

const MAX_LINES: usize = 1_000;
const MAX_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn server(command: &str, url: &str) -> ServerConfig {
        let mut config = ServerConfig::default();
        config.command = Some(command.to_owned()).filter(|command| !command.is_empty());
        config.url = Some(url.to_owned()).filter(|url| !url.is_empty());
        config
    }

    #[test]
    fn every_row_of_the_known_failures_has_signs_in_lower_case_and_an_advice() {
        for row in KNOWN_FAILURES.lines().filter(|line| !line.starts_with('#')) {
            let (signs, advice) = row.split_once(" => ").expect(row);
            assert_eq!(signs, signs.to_lowercase(), "{row}");
            assert!(signs.split(" | ").all(|sign| sign.len() > 5) && advice.len() > 10, "{row}");
        }
    }

    #[test]
    fn a_missing_program_is_named_with_the_command_that_was_tried() {
        let mut config = server("npx", "");
        config.args = ["-y", "some-server", "--token", "hunter2"].map(str::to_owned).into();
        let error = Error::disconnected("the server cannot be started")
            .with_source(io::Error::from(io::ErrorKind::NotFound));
        let message = StartAttempt::default().failure(&config, None, &error);
        let begin =
            "there is no program `npx` in PATH (tried: `npx -y some-server --token ***`); install Node.js";
        assert!(message.starts_with(begin), "{message}");
        let denied = Error::disconnected("the server cannot be started")
            .with_source(io::Error::from(io::ErrorKind::PermissionDenied));
        let message = StartAttempt::default().failure(&server("/", ""), None, &denied);
        assert!(message.starts_with("`/` is a folder, and no program; `command` is the file"), "{message}");
        config.cwd = Some("/nowhere/at/all".to_owned());
        let message = StartAttempt::default().failure(&config, None, &error);
        assert!(message.contains("no folder `/nowhere/at/all`"), "{message}");
    }

    #[test]
    fn the_last_lines_are_told_without_secrets_and_the_first_stray_line_before_them() {
        let attempt = StartAttempt::default();
        for line in ["one", "two", "three", "Error: token=ghp_0123456789abcdef is refused"] {
            attempt.output.push(line);
        }
        let message = attempt.message("it ended");
        assert_eq!(message, "it ended; its last lines: `two` `three` `Error: token=*** is refused`");
        attempt.output.push_stray("Welcome!");
        attempt.output.push_stray("Ready.");
        let message = attempt.message("it ended");
        assert!(
            message.contains("`Welcome!` to its standard output") && !message.contains("Ready."),
            "{message}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_greets_is_waited_for_before_it_is_suspected() {
        let attempt = StartAttempt::default();
        attempt.output.push_stray("Welcome!");
        assert_eq!(attempt.delay(), None);
        tokio::time::advance(LATE).await;
        let message = attempt.delay().unwrap();
        assert!(message.contains("no answer for 5 s") && message.contains("startup_timeout_ms"), "{message}");
    }

    #[test]
    fn an_address_that_nobody_serves_is_named_without_its_secrets() {
        let error = Error::disconnected("the server cannot be reached")
            .with_source(io::Error::other("tcp connect error: Connection refused"));
        let message = StartAttempt::default().failure(&server("", "http://h/mcp?api_key=abc"), None, &error);
        assert!(message.starts_with("http://h/mcp?api_key=***: the server cannot be reached"), "{message}");
        assert!(message.ends_with("or correct its `url`"), "{message}");
    }

    #[test]
    fn the_newest_lines_are_kept_within_both_bounds() {
        let log = StderrTail::default();
        (0..2_000).for_each(|number| log.push(&number.to_string()));
        let all = log.last(usize::MAX);
        assert_eq!((all.len(), &*all[0], &*all[999]), (1_000, "1000", "1999"));
        assert_eq!(log.last(2), ["1998", "1999"]);

        let text = "x".repeat(100 << 10);
        (0..5).for_each(|_| log.push(&text));
        assert_eq!(log.last(usize::MAX), [text.clone(), text]);
    }
}
