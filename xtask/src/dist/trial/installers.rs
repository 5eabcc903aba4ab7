//! The packages of npm and Python and the bundle of Claude Desktop, installed from their files into folders of their own.

use std::{fs, path::Path, process::Command};

use anyhow::{Result, ensure};

use super::{
    Trial,
    place::Place,
    report::{Outcome, missing, unfetched},
};
use crate::{
    dist::{archive, deb, mcpb, npm, wheel},
    node::Node,
    process, python,
};

/// Unpacks the archive into a folder of this machine, and uses it.
pub(super) fn archive(trial: &Trial<'_>) -> Result<Outcome> {
    let folder = trial.release.empty("trial/archive")?;
    let package = trial.release.folder.join(archive::name(trial.release, trial.target));
    process::run_quietly(Command::new("tar").arg("-xf").arg(package).arg("-C").arg(&folder))?;
    let unpacked = folder.join(trial.release.name_for(&trial.target.triple));
    use_program(trial, &folder, &unpacked.join("mgp"))
}

/// Unpacks the package of Debian into a folder of this machine, and uses it.
pub(super) fn deb(trial: &Trial<'_>) -> Result<Outcome> {
    if let Some(left_out) = missing(&[("dpkg-deb", "dpkg")]) {
        return Ok(left_out);
    }
    let folder = trial.release.empty("trial/deb")?;
    let package = trial.release.folder.join(deb::name(trial.release, trial.target));
    let control = process::output(Command::new("dpkg-deb").arg("--field").arg(&package))?;
    ensure!(control.contains(&format!("Version: {}\n", trial.release.version)), "dpkg reads {control}");
    process::run_quietly(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&folder))?;
    use_program(trial, &folder, &folder.join("usr/bin/mgp"))
}

/// Installs the package of npm, uses it, and removes it.
pub(super) fn npm(trial: &Trial<'_>) -> Result<Outcome> {
    if let Some(left_out) = missing(&[("npm", "npm")]) {
        return Ok(left_out);
    }
    let folder = trial.release.empty("trial/npm")?;
    let npm = |words: &[&str]| {
        let mut npm = Command::new("npm");
        npm.args(["--offline", "--no-audit", "--no-fund", "--loglevel", "error", "--global", "--prefix"]);
        npm.arg(&folder).args(words);
        npm
    };
    let package = trial.release.folder.join(npm::name(trial.release, trial.target)?);
    process::run_quietly(npm(&["install"]).arg(package))?;
    let mgp = folder.join("bin/mgp");
    use_program(trial, &folder, &mgp)?;
    process::run_quietly(&mut npm(&["uninstall", &trial.release.names.npm]))?;
    ensure!(!mgp.exists(), "npm leaves {}", mgp.display());
    Ok(Outcome::Passed)
}

/// Installs the wheel by pip, uses it, and removes it.
pub(super) fn wheel(trial: &Trial<'_>) -> Result<Outcome> {
    let folder = trial.release.empty("trial/wheel")?;
    let python = python::environment(&folder.join("venv"), &[])?;
    let package = trial.release.folder.join(wheel::name(trial.release, trial.target));
    let pip = |words: &[&str]| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"]).args(words);
        pip
    };
    process::run_quietly(pip(&["install", "--no-index"]).arg(&package))?;
    let mgp = python.with_file_name("mgp");
    use_program(trial, &folder, &mgp)?;
    process::run_quietly(&mut pip(&["uninstall", "--yes", &trial.release.names.pypi]))?;
    ensure!(!mgp.exists(), "pip leaves {}", mgp.display());
    Ok(Outcome::Passed)
}

/// Installs the wheel by uv, uses it, and removes it.
pub(super) fn uv(trial: &Trial<'_>) -> Result<Outcome> {
    let program = match python::environment(&trial.release.work.join("uv"), &["uv"]) {
        Ok(python) => python.with_file_name("uv"),
        Err(error) => return Ok(unfetched("uv", &error)),
    };
    let folder = std::path::absolute(trial.release.empty("trial/uv")?)?;
    let uv = |words: &[&str]| {
        let mut uv = Command::new(&program);
        uv.args(["--offline", "--quiet", "--cache-dir"]).arg(folder.join("cache")).arg("tool").args(words);
        uv.env("UV_TOOL_DIR", folder.join("tools")).env("UV_TOOL_BIN_DIR", folder.join("bin"));
        uv
    };
    let package = trial.release.folder.join(wheel::name(trial.release, trial.target));
    process::run_quietly(uv(&["install"]).arg(&package))?;
    let mgp = folder.join("bin/mgp");
    use_program(trial, &folder, &mgp)?;
    process::run_quietly(&mut uv(&["uninstall", &trial.release.names.pypi]))?;
    ensure!(!mgp.exists(), "uv leaves {}", mgp.display());
    Ok(Outcome::Passed)
}

/// Checks the bundle by the program of those who made the format, unpacks it and uses what its manifest names.
pub(super) fn mcpb(trial: &Trial<'_>) -> Result<Outcome> {
    if let Some(left_out) = missing(&[("npm", "npm")]) {
        return Ok(left_out);
    }
    let node = match Node::install(&trial.release.work.join("npm"), &["@anthropic-ai/mcpb@2.1.2"]) {
        Ok(node) => node,
        Err(error) => return Ok(unfetched("the program that checks bundles", &error)),
    };
    let folder = trial.release.empty("trial/mcpb")?;
    let package = trial.release.folder.join(mcpb::name(trial.release, trial.target));
    let tool = node.module("@anthropic-ai/mcpb").join("dist/cli/cli.js");
    process::run_quietly(node.script(&tool).arg("unpack").arg(&package).arg(&folder))?;
    process::run_quietly(node.script(&tool).arg("validate").arg(folder.join("manifest.json")))?;
    use_program(trial, &folder, &folder.join("server/mgp"))
}

/// Uses `mgp` with a home of its own in a folder.
fn use_program(trial: &Trial<'_>, folder: &Path, mgp: &Path) -> Result<Outcome> {
    let place = Place::here(folder.join("home"), &[&std::path::absolute(mgp)?.display().to_string()])?;
    place.works(&trial.release.version)?;
    fs::remove_dir_all(&place.home)?;
    Ok(Outcome::Passed)
}
