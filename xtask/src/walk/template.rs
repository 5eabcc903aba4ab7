//! A server in Rust from the template of `mgp new server`, built and connected as its first line says.

use std::process::Command;

use anyhow::{Result, ensure};

use super::home::Home;
use crate::{process, workspace::Workspace};

pub(super) fn walk(workspace: &Workspace, home: &Home) -> Result<String> {
    home.run(&["new", "server", "adder", "--lang", "rust"])?;
    let folder = home.folder().join("adder");
    let mut install = workspace.cargo();
    install.args(["install", "--quiet", "--path", ".", "--root", "."]).current_dir(&folder);
    // The folder of the walk is emptied each time.
    process::run(install.env("CARGO_TARGET_DIR", workspace.target.join("template")))?;
    home.add("adder", &Command::new(folder.join("bin/adder")))?;
    let listed = home.run(&["tools", "adder"])?;
    ensure!(listed.contains("adder.add"), "its tool is not listed: {listed}");
    home.run(&["stop"])?;
    Ok("built, connected".into())
}
