//! `cargo xtask team`: a day of a team of 250 with real parts: an identity provider, Prometheus, and a syslog server.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{node::Node, process, workspace::Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A program in the place of `mgp`, built in release mode
    #[arg(long, value_name = "PROGRAM")]
    mgp: Option<PathBuf>,
    /// Fewer people and upgrades, without the parts that are not installed
    #[arg(long)]
    short: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let mgp = match &args.mgp {
        Some(program) => std::path::absolute(program)?,
        None => workspace.build_mgp()?,
    };
    let folder = workspace.target.join("team");
    let node = Node::install(&folder.join("npm"), &["oidc-provider@9.13.3"])?;
    let scripts = workspace.root.join("xtask/team");
    // Its imports are found where the packages are.
    let issuer = folder.join("npm/issuer.mjs");
    std::fs::copy(scripts.join("issuer.mjs"), &issuer)?;
    let mut day = Command::new("python3");
    day.arg(scripts.join("team.py")).arg(mgp).arg(folder.join("day")).arg(node.binary()).arg(issuer);
    process::run(day.args(args.short.then_some("--short")))
}
