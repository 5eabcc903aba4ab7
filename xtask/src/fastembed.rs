//! `cargo xtask fastembed`: the tests with a real sentence encoder, after what they need was brought.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, python, workspace::Workspace};

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
    let mut test = workspace.cargo();
    test.args(["test", "-p", "mgp-toolindex", "--features", "fastembed", "--test", "fastembed"]);
    process::run(test.envs(assets(workspace)?))
}

const FETCH: &str = "xtask/assets/fetch_test_assets.sh";
