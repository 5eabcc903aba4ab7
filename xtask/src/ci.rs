//! `cargo xtask ci`: everything but the tests of the workspace that a change must pass, stopping at the first failure; with
//! `--all` also what takes long and hardly ever fails alone.

use std::{process::Command, time::Instant};

use anyhow::{Context, Result, bail};

use crate::workspace::{WITH_ALL_PARTS, Workspace};
use crate::{api, fastembed, process, tidy};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also the public items, the oldest toolchain, each feature alone, and a real sentence encoder
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let started = Instant::now();
    step("format", || process::run(workspace.cargo().args(["fmt", "--all", "--check"])))?;
    step("tidy", || tidy::run(workspace))?;
    step("lints", || {
        let clippy =
            ["clippy", "--quiet", "--workspace", "--all-targets", WITH_ALL_PARTS, "--", "-D", "warnings"];
        process::run(workspace.cargo().args(clippy))
    })?;
    step("docs", || {
        let doc = ["doc", "--quiet", "--no-deps", "--workspace", WITH_ALL_PARTS];
        process::run(workspace.cargo().args(doc).env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    step("licences", || deny(workspace))?;
    if args.all {
        run_long(workspace)?;
    }
    println!("all of it in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn run_long(workspace: &Workspace) -> Result<()> {
    match api::obstacle()? {
        None => step("public items", || api::run(workspace, &api::Args::default()))?,
        Some(obstacle) => println!("    left out  public items: {obstacle}"),
    }
    match oldest_toolchain(workspace) {
        Some(mut check) => step("the oldest toolchain", || process::run(&mut check))?,
        None => println!("    left out  the oldest toolchain: `rustup toolchain install {OLDEST}` brings it"),
    }
    for (name, arguments) in feature_sets(workspace) {
        step(&name, || process::run(workspace.cargo().args(["check", "--quiet"]).args(&arguments)))?;
    }
    step("a real sentence encoder", || fastembed::run(workspace))
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let started = Instant::now();
    work().with_context(|| format!("step `{name}` failed"))?;
    println!("{:6.1} s  {name}", started.elapsed().as_secs_f64());
    Ok(())
}

/// Returns the command that checks the workspace by the oldest toolchain that it promises to build with; nothing where that is not
/// installed.
fn oldest_toolchain(workspace: &Workspace) -> Option<Command> {
    let mut cargo = Command::new("rustup");
    cargo.args(["run", OLDEST, "cargo"]).current_dir(&workspace.root);
    let mut check = Command::new("rustup");
    check.args(["run", OLDEST, "cargo", "check", "--quiet", "--workspace"]).current_dir(&workspace.root);
    // What the other toolchain has built stays fit for use.
    check.arg("--target-dir").arg(workspace.target.join("oldest"));
    process::succeeds(cargo.arg("--version")).then_some(check)
}

/// Each crate with none of its features, and with each of them alone: features only ever add.
fn feature_sets(workspace: &Workspace) -> Vec<(String, Vec<String>)> {
    let mut sets = Vec::new();
    for package in workspace.members() {
        let alone = |feature: &str| {
            ["-p", &package.name, "--no-default-features", "--features", feature].map(String::from).to_vec()
        };
        sets.push((format!("{} without features", package.name), alone("")));
        for feature in package.features.keys().filter(|f| *f != "default") {
            sets.push((format!("{} with `{feature}` alone", package.name), alone(feature)));
        }
    }
    sets
}

/// Advisories are left out: they come from a repository, not from a package registry, and change daily.
fn deny(workspace: &Workspace) -> Result<()> {
    if !process::succeeds(workspace.cargo().args(["deny", "--version"])) {
        bail!(
            "`cargo deny` is missing; install it: cargo install cargo-deny --locked --version {DENY_VERSION}"
        );
    }
    process::run(
        workspace.cargo().args(["deny", "--log-level", "error", "check", "licenses", "bans", "sources"]),
    )
}

/// The `rust-version` of the workspace.
const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");

/// The version that `.ci/run` installs.
const DENY_VERSION: &str = "0.20.2";
