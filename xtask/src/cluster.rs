//! `cargo xtask cluster`: three kernels that share a PostgreSQL, behind haproxy, while parts of it stop and are killed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{process, python, workspace::Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A program in the place of `mgp`, built in release mode
    #[arg(long, value_name = "PROGRAM")]
    mgp: Option<PathBuf>,
    /// A program in the place of our example `replicas`
    #[arg(long, value_name = "PROGRAM")]
    simulation: Option<PathBuf>,
    /// Fewer rounds of each check
    #[arg(long)]
    short: bool,
    /// How often a kernel is killed under load: 200 times if left out, or 5 with `--short`
    #[arg(long, value_name = "NUMBER")]
    kills: Option<u32>,
    /// Only the checks with this in their names
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let mgp = match &args.mgp {
        Some(program) => std::path::absolute(program)?,
        None => workspace.build_mgp()?,
    };
    let simulation = workspace.example_or(args.simulation.as_deref(), "mgp-store", "replicas")?;
    let simulation = std::path::absolute(simulation)?;
    let folder = workspace.target.join("cluster");
    // Only the whole chore looks at the chart.
    let packages =
        if args.short { &[][..] } else { &["helm-python-sdk==0.2.2", "kubernetes-validate==1.37.0"] };
    let interpreter = python::environment(&folder.join("python"), packages)?;
    let mut cluster = Command::new(interpreter);
    cluster.arg(workspace.root.join("xtask/cluster/cluster.py"));
    cluster.arg(mgp).arg(folder.join("run")).arg(simulation);
    cluster.args(args.short.then_some("--short"));
    if let Some(kills) = args.kills {
        cluster.args(["--kills", &kills.to_string()]);
    }
    if let Some(only) = &args.only {
        cluster.args(["--only", only]);
    }
    process::run(&mut cluster)
}
