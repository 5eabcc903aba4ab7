//! The results that the conformance suite writes, and their evaluation.
//!
//! Each scenario has a folder, `server-tools-list-2026-11-20T08-38-59-609Z` or, for a client,
//! `auth/dpop-2026-11-20T08-40-07-078Z`, with a `checks.json`: a list of checks, each with an id, a status (`SUCCESS`,
//! `FAILURE`, `WARNING`, `SKIPPED`, `INFO`) and, where it went wrong, an `errorMessage`.

use std::{
    collections::HashMap,
    fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Side;

/// The checks of one scenario, counted.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) scored: bool,
    /// True if the suite wrote anything about it.
    pub(super) ran: bool,
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) warnings: usize,
    /// Checks that nothing called for.
    pub(super) skipped: usize,
    excused: bool,
    pub(super) faults: Vec<String>,
}

/// The result of a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    /// The suite itself left it out, and does not score it.
    Skipped,
    /// It failed and stands in [`EXCUSED`].
    Excused,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::Skipped => "skipped",
            Self::Excused => "excused",
        })
    }
}

impl Scenario {
    /// The suite passes a scenario in which nothing was checked; we do not.
    pub(super) fn verdict(&self) -> Verdict {
        if self.failed == 0 && self.passed > 0 {
            Verdict::Passed
        } else if self.failed == 0 && self.skipped > 0 && !self.scored {
            Verdict::Skipped
        } else if self.excused {
            Verdict::Excused
        } else {
            Verdict::Failed
        }
    }

    fn new(name: &str, scored: bool, side: Side, checks: Option<Vec<Check>>) -> Self {
        let ran = checks.is_some();
        let checks = checks.unwrap_or_default();
        let count = |status| checks.iter().filter(|c| c.status == status).count();
        let failures = checks.iter().filter(|c| c.status == "FAILURE");
        let mut faults: Vec<_> = failures.map(Check::fault).collect();
        if !ran {
            faults.push("it did not run to its end; suite.log says why".into());
        } else if faults.is_empty() {
            faults.push("nothing was checked".into());
        }
        Self {
            name: name.to_owned(),
            scored,
            ran,
            passed: count("SUCCESS"),
            failed: count("FAILURE"),
            warnings: count("WARNING"),
            skipped: count("SKIPPED"),
            excused: EXCUSED.iter().any(|(of, prefix)| *of == side && name.starts_with(prefix)),
            faults,
        }
    }
}

/// Scenarios that may fail, by the beginning of their name.
const EXCUSED: [(Side, &str); 4] = [
    // The skills extension is optional, and the example server does not offer it.
    (Side::Server, "sep-2640-"),
    (Side::Kernel, "sep-2640-"),
    // Looks for a tool by its bare name in the list, where the kernel has it by its server's name and its own.
    (Side::Kernel, "json-schema-2020-12"),
    // Is about a server that closes the stream of a call. The kernel keeps its client's streams open.
    (Side::Kernel, "server-sse-polling"),
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    error_message: Option<String>,
}

impl Check {
    /// In one line: the suite repeats itself in the following ones.
    fn fault(&self) -> String {
        let message = self.error_message.as_deref().and_then(|m| m.lines().next()).unwrap_or("failed");
        format!("{}: {}", self.id, message.chars().take(240).collect::<String>())
    }
}

/// The scenarios that `list --requirements` names for one side, and whether they are scored.
pub(super) fn expected(list: &str, side: Side) -> Vec<(String, bool)> {
    let mut scenarios = Vec::new();
    let mut scored = Some(side.word());
    for line in list.lines() {
        match line {
            _ if line.starts_with("Server scenarios") => scored = Some(Side::Server.word()),
            _ if line.starts_with("Client scenarios") => scored = Some(Side::Client.word()),
            _ if line.starts_with("Run and reported, but never scored") => scored = None,
            _ => {
                let Some(item) = line.trim().strip_prefix("- ") else { continue };
                let (name, of) = item.split_once(" [").unwrap_or((item, ""));
                if scored == Some(side.word()) {
                    scenarios.push((name.to_owned(), true));
                } else if scored.is_none() && of == format!("{}]", side.word()) {
                    scenarios.push((name.to_owned(), false));
                }
            }
        }
    }
    scenarios
}

/// Reads the result of every scenario that was expected to run.
pub(super) fn read(out: &Path, expected: &[(String, bool)], side: Side) -> Result<Vec<Scenario>> {
    let mut files = HashMap::new();
    collect(out, out, &mut files)?;
    let prefix = if side == Side::Client { "" } else { "server-" };
    expected
        .iter()
        .map(|(name, scored)| {
            let checks = match files.get(&format!("{prefix}{name}")) {
                Some(path) => Some(parse(path)?),
                None => None,
            };
            Ok(Scenario::new(name, *scored, side, checks))
        })
        .collect()
}

fn parse(path: &Path) -> Result<Vec<Check>> {
    let json = fs::read_to_string(path)?;
    serde_json::from_str(&json).with_context(|| format!("{} has an unknown form", path.display()))
}

/// Finds each `checks.json`, by the name of its folder without the time.
fn collect(root: &Path, folder: &Path, files: &mut HashMap<String, PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if path.ends_with("checks.json") {
            let name = folder.strip_prefix(root)?.to_string_lossy().into_owned();
            files.insert(name[..name.len().saturating_sub(TIME)].to_owned(), path);
        }
    }
    Ok(())
}

const TIME: usize = "-2026-11-20T08-38-59-609Z".len();

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &str, side: Side, statuses: &[&str]) -> Scenario {
        let check = |s: &&str| Check { id: "c".into(), status: (*s).into(), error_message: None };
        Scenario::new(name, true, side, Some(statuses.iter().map(check).collect()))
    }

    #[test]
    fn a_list_tells_scored_from_unscored() {
        let list = "Required for X (3 scenarios):\n\nServer scenarios (test against a server):\n  - tools-list\n\n\
            Client scenarios (test against a client):\n  - tools_call\n\nRun and reported, but never scored:\n  \
            extension (2):\n    - auth/dpop [client]\n    - tasks-lifecycle [server]\n";
        assert_eq!(
            expected(list, Side::Server),
            [("tools-list".into(), true), ("tasks-lifecycle".into(), false)]
        );
        assert_eq!(expected(list, Side::Client), [("tools_call".into(), true), ("auth/dpop".into(), false)]);
    }

    #[test]
    fn a_scenario_without_any_success_has_not_passed() {
        assert_eq!(scenario("x", Side::Client, &["SUCCESS", "WARNING"]).verdict(), Verdict::Passed);
        assert_eq!(scenario("x", Side::Client, &["SUCCESS", "FAILURE"]).verdict(), Verdict::Failed);
        assert_eq!(scenario("x", Side::Client, &["INFO"]).verdict(), Verdict::Failed);
        assert_eq!(scenario("x", Side::Client, &["SKIPPED"]).verdict(), Verdict::Failed);
        assert_eq!(Scenario::new("x", true, Side::Client, None).verdict(), Verdict::Failed);
    }

    #[test]
    fn an_unscored_scenario_may_be_skipped() {
        let skipped = Scenario { scored: false, ..scenario("x", Side::Server, &["SKIPPED"]) };
        assert_eq!(skipped.verdict(), Verdict::Skipped);
    }

    #[test]
    fn only_what_is_listed_is_excused() {
        assert_eq!(scenario("server-sse-polling", Side::Kernel, &["FAILURE"]).verdict(), Verdict::Excused);
        assert_eq!(scenario("server-sse-polling", Side::Server, &["FAILURE"]).verdict(), Verdict::Failed);
        assert_eq!(scenario("auth/dpop", Side::Client, &["FAILURE"]).verdict(), Verdict::Failed);
    }
}
