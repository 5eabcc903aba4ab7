//! `cargo xtask fastembed`: the tests with a real sentence encoder, after what they need was brought.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, python, workspace::Workspace};

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    process::require("python3", python::INSTALL)?;
    let mut fetch = Command::new("bash");
    fetch.arg(workspace.root.join(FETCH)).arg(workspace.target.join("embed-assets"));
    let lines = process::output(&mut fetch)?;
    let environment = lines
        .lines()
        .map(|line| line.split_once('=').with_context(|| format!("{FETCH} wrote `{line}`, not NAME=VALUE")))
        .collect::<Result<Vec<_>>>()?;
    let run = |tests: &[&str]| {
        let mut test = workspace.cargo();
        // Without it a vector of our own encoder takes seconds.
        test.args(["--config", "profile.dev.package.mgp-toolindex.opt-level=3"]);
        test.args(["test", "-p", "mgp-toolindex", "--features", "fastembed"]).args(tests);
        process::run(test.envs(environment.iter().copied()))
    };
    run(&["--test", "fastembed"])?;
    // What the vectors of our own encoder differ by is printed.
    run(&["--lib", "encoder::comparison", "--", "--nocapture"])
}

const FETCH: &str = "xtask/assets/fetch_test_assets.sh";
