//! The tokens of whole tasks at each level of tool discovery, which the example `tokens` of the kernel counts.

use std::process::Command;

use anyhow::{Result, ensure};

use super::origin::origin;
use super::search::SearchOptions;
use crate::process;
use crate::workspace::{Features, Profile, Workspace};

/// Plays the tasks, among the tools of the demo alone and among those of real servers, and prints what they take.
pub(super) fn run(workspace: &Workspace, options: &SearchOptions) -> Result<()> {
    let tools = workspace.root.join(options.folder()).join("sets").join(SERVERS).join("tools.jsonl");
    ensure!(tools.exists(), "there is no {}; name the folder of the sets with --search-dir", tools.display());
    let mgp = workspace.build_mgp()?;
    let counted = Features::Only("mgp-toolindex/tiktoken");
    let example = workspace.build_example("mgp-kernel", "tokens", counted, Profile::Release)?;
    println!("playing tasks");
    let mut play = Command::new(example);
    play.arg("--mgp").arg(mgp).arg("--others").arg(tools);
    let output = process::output(&mut play)?;
    println!("\n{}\n\n{output}", origin("cargo xtask bench --only tokens", false)?);
    Ok(())
}

/// The set with the tools of servers that people run.
const SERVERS: &str = "real-servers";
