//! One run of one client against one server, and the checks it reports.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::peers::Transport;
use crate::process;

/// The server that a client is told to use: a command line, or an address.
#[derive(Debug)]
pub(crate) struct Target {
    words: Vec<String>,
    sample: Sample,
}

/// A call of a tool that even a client with few features can make.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// The text that the list of tools contains.
    pub(crate) lists: &'static str,
    /// The tool that is called, with its arguments as the inspector takes them.
    pub(crate) call: &'static [&'static str],
    /// The text that the answer contains.
    pub(crate) answer: &'static str,
}

impl Target {
    pub(crate) fn program(program: &Path, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|a| (*a).into());
        Self::new(std::iter::once(program.display().to_string()).chain(arguments).collect())
    }

    pub(crate) fn command(command: &Command) -> Self {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        Self::new(words.map(|w| w.to_string_lossy().into_owned()).collect())
    }

    pub(crate) fn url(transport: Transport, port: u16) -> Self {
        let path = if transport == Transport::Sse { "sse" } else { "mcp" };
        Self::new(vec![format!("http://127.0.0.1:{port}/{path}")])
    }

    /// A server of which this is tried, in place of the fixtures.
    pub(crate) fn sampled(mut self, sample: Sample) -> Self {
        self.sample = sample;
        self
    }

    pub(crate) fn arguments(&self) -> &[String] {
        &self.words
    }

    pub(crate) fn sample(&self) -> Sample {
        self.sample
    }

    fn new(words: Vec<String>) -> Self {
        let sample = Sample {
            lists: "\"test_simple_text\"",
            call: &["--tool-name", "test_simple_text"],
            answer: "This is a simple text response for testing.",
        };
        Self { words, sample }
    }
}

/// The checks of one run, by name.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Checks {
    pub(crate) passed: Vec<String>,
    /// Each with what went wrong.
    pub(crate) failed: Vec<String>,
    /// Failed, because the peer cannot do it.
    pub(crate) lacking: Vec<String>,
}

impl Checks {
    pub(crate) fn passed(check: &str) -> Self {
        Self { passed: vec![check.to_owned()], ..Self::default() }
    }

    pub(crate) fn broken(why: &str) -> Self {
        Self { failed: vec![why.to_owned()], ..Self::default() }
    }

    pub(crate) fn add(&mut self, check: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed.push(check.to_owned()),
            Err(why) => self.failed.push(format!("{check}: {why}")),
        }
    }

    /// Moves the failures of what the peer is known to lack aside.
    pub(crate) fn without(mut self, lacks: &[&str]) -> Self {
        let is_lacking = |fault: &String| lacks.iter().any(|l| fault.starts_with(&format!("{l}: ")));
        let (lacking, failed) = self.failed.into_iter().partition(is_lacking);
        self.lacking = lacking;
        for fault in &mut self.lacking {
            fault.truncate(fault.find(':').unwrap_or(fault.len()));
        }
        Self { failed, ..self }
    }
}

/// Runs a client that reports in lines of JSON.
pub(crate) fn run(command: &mut Command, log: &Path) -> Result<Checks> {
    let (ended_well, output) = finish(command, log)?;
    Ok(parse(&output, ended_well))
}

/// Runs a program to its end and returns whether it ended well, and what it wrote.
pub(crate) fn finish(command: &mut Command, log: &Path) -> Result<(bool, String)> {
    let file = fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let errors = fs::File::create(log.with_extension("stderr"))?;
    command.stdin(Stdio::null()).stdout(file).stderr(errors);
    let ended_well = process::within(command, LIMIT)?;
    if ended_well {
        fs::remove_file(log.with_extension("stderr"))?;
    }
    Ok((ended_well, fs::read_to_string(log)?))
}

#[derive(Deserialize)]
struct Line {
    check: String,
    ok: bool,
    #[serde(default)]
    skipped: bool,
    #[serde(default)]
    detail: String,
}

/// A run proves something only if it listed and called tools, and if its exit code agrees with its lines.
fn parse(output: &str, ended_well: bool) -> Checks {
    let mut checks = Checks::default();
    let lines = output.lines().filter_map(|l| serde_json::from_str::<Line>(l).ok());
    for line in lines.filter(|line| !line.skipped) {
        checks.add(&line.check, if line.ok { Ok(()) } else { Err(line.detail) });
    }
    for check in ["tools/list", "tools/call"] {
        let reported = |c: &String| c == check || c.starts_with(&format!("{check}: "));
        if !checks.passed.iter().chain(&checks.failed).any(reported) {
            checks.failed.push(format!("{check}: not reported"));
        }
    }
    if !ended_well && checks.failed.is_empty() {
        checks.failed.push("exit: not zero although every check passed".into());
    }
    checks
}

const LIMIT: Duration = Duration::from_mins(2);

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str =
        "noise\n{\"check\":\"tools/list\",\"ok\":true}\n{\"check\":\"tools/call\",\"ok\":true}\n";

    #[test]
    fn every_line_is_a_check() {
        let checks =
            parse(&format!("{BOTH}{{\"check\":\"cancel\",\"ok\":false,\"detail\":\"late\"}}\n"), false);
        assert_eq!(checks.passed, ["tools/list", "tools/call"]);
        assert_eq!(checks.failed, ["cancel: late"]);
    }

    #[test]
    fn silence_proves_nothing() {
        assert_eq!(parse("", true).failed.len(), 2);
        let skipped = BOTH.replace("true", "true,\"skipped\":true");
        assert_eq!(parse(&skipped, true).failed.len(), 2);
        assert_eq!(parse(BOTH, false).failed.len(), 1);
        assert!(parse(BOTH, true).failed.is_empty());
    }

    #[test]
    fn what_a_peer_lacks_is_no_failure() {
        let checks =
            Checks { failed: vec!["elicitation: no".into(), "cancel: no".into()], ..Checks::default() };
        let checks = checks.without(&["elicitation"]);
        assert_eq!(checks.failed, ["cancel: no"]);
        assert_eq!(checks.lacking, ["elicitation"]);
    }
}
