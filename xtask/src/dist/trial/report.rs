//! What came of each trial, as it is printed.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// How a trial ended that found no fault.
#[derive(Debug)]
pub(super) enum Outcome {
    Passed,
    /// Something is missing on this machine, which the text names.
    LeftOut(String),
}

/// How many trials passed, failed and were left out.
#[derive(Debug, Default)]
pub(super) struct Report {
    passed: usize,
    failed: usize,
    left_out: usize,
}

impl Report {
    /// Makes a trial, and prints how it ended.
    pub(super) fn add(&mut self, name: &str, trial: impl FnOnce() -> Result<Outcome>) {
        match trial() {
            Ok(Outcome::Passed) => {
                self.passed += 1;
                println!("    pass  {name}");
            }
            Ok(Outcome::LeftOut(reason)) => {
                self.left_out += 1;
                println!("left out  {name}: {reason}");
            }
            Err(error) => {
                self.failed += 1;
                println!("    FAIL  {name}: {error:#}");
            }
        }
    }

    /// Prints the numbers.
    ///
    /// # Errors
    /// Fails if a trial failed.
    pub(super) fn close(&self) -> Result<()> {
        println!("{} passed, {} failed, {} left out", self.passed, self.failed, self.left_out);
        if self.failed > 0 {
            bail!("packages do not work: {} trials failed", self.failed);
        }
        Ok(())
    }
}

/// Returns the reason to leave out a trial that needs programs, each with how Debian installs it; nothing if all are there.
pub(super) fn missing(programs: &[(&str, &str)]) -> Option<Outcome> {
    let (program, package) = programs.iter().find(|(program, _)| process::installed(program).is_none())?;
    Some(Outcome::LeftOut(format!("`{program}` is not installed (on Debian: apt-get install {package})")))
}

/// Returns that a trial is left out because what it needs cannot be fetched, as where there is no network.
pub(super) fn unfetched(what: &str, error: &anyhow::Error) -> Outcome {
    Outcome::LeftOut(format!("{what} cannot be fetched: {error:#}"))
}

/// Returns the reason to leave out a trial in a root of its own, which only the root of this machine enters.
pub(super) fn missing_for_root(programs: &[(&str, &str)]) -> Option<Outcome> {
    let is_root = process::output(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0");
    let needs_root = || Some(Outcome::LeftOut("only root enters a root of its own".to_owned()));
    if is_root { missing(&[&[("unshare", "util-linux")], programs].concat()) } else { needs_root() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_trial_fails_the_whole_and_one_left_out_does_not() {
        let mut report = Report::default();
        report.add("one", || Ok(Outcome::Passed));
        report.add("another", || Ok(missing(&[("no-such-program", "none")]).unwrap()));
        report.close().unwrap();
        report.add("a third", || bail!("it does not start"));
        assert!(report.close().unwrap_err().to_string().contains("1 trials failed"));
    }
}
