//! `cargo xtask mutants`: whether the tests notice changes of the code that decides.
//!
//! `cargo-mutants` changes one expression at a time and runs the tests of that code. A change that no test notices survives;
//! `xtask/assets/mutants.json` lists the files, the tests that hold them, and why a survivor changes nothing that anybody could
//! see. Any other survivor fails the run. The code is changed in a copy, so that the workspace stays as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{process, workspace::Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the files whose paths contain this
    file: Option<String>,
}

/// A file that decides, and the tests that hold it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DecidingFile {
    file: String,
    package: String,
    /// A word that the names of its tests contain.
    tests: String,
    /// The survivors, each with the reason why it is none.
    #[serde(default)]
    explained: BTreeMap<String, String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let list =
        fs::read_to_string(workspace.root.join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
    let files: Vec<DecidingFile> =
        serde_json::from_str(&list).with_context(|| format!("cannot read {LIST}"))?;
    let is_chosen = |file: &&DecidingFile| args.file.as_ref().is_none_or(|word| file.file.contains(word));
    let chosen: Vec<_> = files.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        bail!("no file of {LIST} has this in its path");
    }
    install(workspace)?;
    let mut unexplained = Vec::new();
    for file in chosen {
        let survivors = survivors(workspace, file)?;
        let stale = file.explained.keys().filter(|known| !survivors.contains(known));
        for known in stale {
            println!("{}: `{known}` is explained and does not survive", file.file);
        }
        let new = survivors.into_iter().filter(|survivor| !file.explained.contains_key(survivor));
        unexplained.extend(new.map(|survivor| format!("{}: {survivor}", file.file)));
    }
    if !unexplained.is_empty() {
        bail!("no test notices these changes:\n  {}", unexplained.join("\n  "));
    }
    println!("every change is noticed or explained");
    Ok(())
}

fn install(workspace: &Workspace) -> Result<()> {
    let is_there =
        workspace.cargo().args(["mutants", "--version"]).output().is_ok_and(|ran| ran.status.success());
    if is_there {
        return Ok(());
    }
    process::run(workspace.cargo().args(["install", "cargo-mutants", "--locked"]))
}

/// Returns the changes of a file that its tests do not notice, without their places, which move.
fn survivors(workspace: &Workspace, file: &DecidingFile) -> Result<Vec<String>> {
    let out = workspace.target.join("mutants").join(file.file.replace('/', "_"));
    fs::create_dir_all(&out)?;
    let mut mutants: Command = workspace.cargo();
    mutants
        .args(["mutants", "--package", &file.package, "--file", &file.file, "--all-features", "--output"])
        .arg(&out)
        // A change may make a loop endless: the tests of one file take seconds.
        .args(["--no-shuffle", "--timeout", "120", "--cargo-arg", "--lib", "--", &file.tests])
        // What is built of other crates serves all copies.
        .env("CARGO_TARGET_DIR", workspace.target.join("mutants").join("build"));
    let ran = mutants.status().context("cannot start cargo-mutants")?;
    // It ends with 2 if changes were missed, and with 3 if tests did not end, which is noticing, too.
    if !matches!(ran.code(), Some(0 | 2 | 3)) {
        bail!("cargo-mutants ended with {ran} for {}", file.file);
    }
    if !has_tests(&read(&out.join("mutants.out/log/baseline.log"))?) {
        bail!("no test of {} is called `{}`", file.package, file.tests);
    }
    let missed = read(&out.join("mutants.out/missed.txt"))?;
    Ok(missed.lines().map(|line| line.splitn(2, ": ").last().unwrap_or(line).to_owned()).collect())
}

/// Returns whether a run of tests, as `cargo test` printed it, ran one.
fn has_tests(printed: &str) -> bool {
    let counts = printed.lines().filter_map(|line| line.strip_prefix("running ")?.split(' ').next());
    counts.filter_map(|count| count.parse::<u32>().ok()).any(|count| count > 0)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

const LIST: &str = "xtask/assets/mutants.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_test_is_told_from_one_with_some() {
        assert!(has_tests("running 0 tests\n\nok\nrunning 12 tests\n"));
        assert!(!has_tests("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 3 filtered out\n"));
    }
}
