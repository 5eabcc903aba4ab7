//! Python environments with packages of their own, under target/.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::process;

/// Makes an environment that holds these packages, unless it is there already; returns its interpreter.
pub(crate) fn environment(folder: &Path, packages: &[&str]) -> Result<PathBuf> {
    process::require("python3", INSTALL)?;
    let wanted = packages.join(" ");
    let interpreter = folder.join("bin/python");
    let stamp = folder.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(interpreter);
    }
    process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))
        .with_context(|| format!("python3 cannot make an environment; install it: {INSTALL}"))?;
    if !packages.is_empty() {
        println!("pip install {wanted}");
        process::run(Command::new(&interpreter).args(["-m", "pip", "install", "--quiet"]).args(packages))?;
    }
    fs::write(&stamp, wanted)?;
    Ok(interpreter)
}

/// How to get what [`environment`] needs.
pub(crate) const INSTALL: &str =
    "Python 3.10 or newer with venv (on Debian: apt install python3 python3-venv)";
