//! `cargo xtask fastembed`: the tests with a real sentence encoder, after what they need was brought.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, python, workspace::Workspace};

/// Brings a sentence encoder, unless it is there already. Returns its folder.
pub(crate) fn encoder(workspace: &Workspace) -> Result<PathBuf> {
    let environment = assets(workspace)?;
    let folder = environment.into_iter().find(|(name, _)| name == "FASTEMBED_TEST_MODEL");
    Ok(folder.with_context(|| format!("{FETCH} named no folder of a model"))?.1.into())
}

/// Brings what the tests with a sentence encoder need. Returns their environment.
fn assets(workspace: &Workspace) -> Result<Vec<(String, String)>> {
    process::require("python3", python::INSTALL)?;
    let mut fetch = Command::new("bash");
    fetch.arg(workspace.root.join(FETCH)).arg(workspace.target.join("embed-assets"));
    let named = |line: &str| {
        let (name, value) =
            line.split_once('=').with_context(|| format!("{FETCH} wrote `{line}`, not NAME=VALUE"))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    process::output(&mut fetch)?.lines().map(named).collect()
}

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let environment = assets(workspace)?;
    let run = |tests: &[&str]| {
        let mut test = workspace.cargo();
        // Without it a vector of our own encoder takes seconds.
        test.args(["--config", "profile.dev.package.mgp-toolindex.opt-level=3"]);
        test.args(["test", "-p", "mgp-toolindex", "--features", "fastembed"]).args(tests);
        process::run(test.envs(environment.clone()))
    };
    run(&["--test", "fastembed"])?;
    // What the vectors of our own encoder differ by is printed.
    run(&["--lib", "encoder::comparison", "--", "--nocapture"])
}

const FETCH: &str = "xtask/assets/fetch_test_assets.sh";
