//! The programs that the kernel is measured with, and where they are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

use anyhow::{Context, Result};

use crate::process;
use crate::workspace::{Profile, Workspace};

/// Where the programs are that the kernel is measured with.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program `mcp-proxy` of crates.io, version 0.6; without it, cargo installs it below the target folder
    #[arg(long, value_name = "PROGRAM")]
    mcp_proxy: Option<PathBuf>,
    /// A program in the place of `mgp`
    #[arg(long, value_name = "PROGRAM")]
    mgp: Option<PathBuf>,
}

/// The programs that are measured, and those that measure.
pub(super) struct Programs {
    pub(super) kernel: KernelProgram,
    /// The floor, the server behind the gateways, and the load driver.
    pub(super) peers: PathBuf,
}

/// The program `mgp`, and the folder for its configurations, states and profiles.
pub(super) struct KernelProgram {
    pub(super) program: PathBuf,
    pub(super) folder: PathBuf,
}

impl KernelProgram {
    pub(super) fn build(workspace: &Workspace, options: &Options) -> Result<Self> {
        let program = match &options.mgp {
            Some(program) => {
                program.canonicalize().with_context(|| format!("there is no {}", program.display()))?
            }
            None => workspace.build_program("mgp-kernel", "mgp", Profile::Dist)?,
        };
        let folder = workspace.target.join("bench/kernel");
        // Files that an earlier run has left must not count for this one.
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(Self { program, folder })
    }
}

impl Programs {
    pub(super) fn build(workspace: &Workspace, options: &Options, peers: PathBuf) -> Result<Self> {
        Ok(Self { kernel: KernelProgram::build(workspace, options)?, peers })
    }

    pub(super) fn peer(&self, name: &str, arguments: &[&str]) -> Vec<String> {
        let program = self.peers.join(name).display().to_string();
        iter::once(program).chain(arguments.iter().map(|argument| (*argument).to_owned())).collect()
    }
}

/// The program `mcp-proxy` that the kernel is measured beside.
pub(super) fn proxy(workspace: &Workspace, options: &Options) -> Result<PathBuf> {
    match &options.mcp_proxy {
        Some(program) => program.canonicalize().with_context(|| format!("there is no {}", program.display())),
        None => installed_proxy(&workspace.target.join("bench/mcp-proxy")),
    }
}

/// Has cargo install `mcp-proxy` below `root`, unless it is there.
fn installed_proxy(root: &Path) -> Result<PathBuf> {
    let program = root.join("bin/mcp-proxy");
    if !program.exists() {
        println!("installing mcp-proxy {PROXY_VERSION}, which is measured beside the kernel");
        let mut install = Command::new(env!("CARGO"));
        install.args(["install", "mcp-proxy", "--locked", "--version", PROXY_VERSION, "--root"]).arg(root);
        process::run(&mut install)?;
    }
    Ok(program)
}

const PROXY_VERSION: &str = "0.6.0";
