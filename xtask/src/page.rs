//! `cargo xtask page`: the checks of the page for people, in a real browser.
//!
//! The browser is the system's Chromium, led by playwright, which waits for what it looks for; axe looks for what people who
//! see or move otherwise could not use. Pictures of all pages lie in `target/page` afterwards, to be looked at.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{node::Node, process, workspace::Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A program in the place of `mgp`, built in release mode
    #[arg(long, value_name = "PROGRAM")]
    mgp: Option<PathBuf>,
    /// The browser; by default the system's Chromium
    #[arg(long, value_name = "PROGRAM")]
    browser: Option<PathBuf>,
    /// Measure the pages of a kernel with 10,000 tools and a million events, without a browser
    #[arg(long, conflicts_with = "browser")]
    large: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let mgp = match &args.mgp {
        Some(program) => std::path::absolute(program)?,
        None => workspace.build_mgp()?,
    };
    let folder = workspace.target.join("page");
    if args.large {
        let script = workspace.root.join("xtask/page/large.py");
        return process::run(Command::new("python3").arg(script).args([&mgp, &folder]));
    }
    let Some(browser) = args.browser.clone().or_else(installed) else {
        bail!("no Chromium is installed: `apt-get install chromium`, or name one by --browser");
    };
    let node = Node::install(&folder.join("npm"), &PACKAGES)?;
    let script = workspace.root.join("xtask/page/page.mjs");
    process::run(node.script(&script).args([&mgp, &browser, &folder]))
}

fn installed() -> Option<PathBuf> {
    let is_there = |name: &&str| process::succeeds(Command::new(name).arg("--version"));
    let name = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_there)?;
    process::installed(name)
}

const PACKAGES: [&str; 2] = ["playwright-core@1.65", "axe-core@4.14"];
