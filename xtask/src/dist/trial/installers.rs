//! The packages of npm and Python and the bundle of Claude Desktop, installed from their files into folders of their own.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{
    Trial,
    place::Place,
    report::{Outcome, missing, unfetched},
};
use crate::{
    dist::{archive, deb, mcpb, npm, wheel},
    node::Node,
    process, python,
    session::{Era, Session},
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

/// Installs the packages of npm, uses them as clients do, and removes them.
pub(super) fn npm(trial: &Trial<'_>) -> Result<Outcome> {
    if let Some(left_out) = missing(&[("npm", "npm"), ("node", "nodejs")]) {
        return Ok(left_out);
    }
    let folder = trial.release.empty("trial/npm")?;
    let platform = npm::platform_name(trial.release, trial.target)?;
    let packages = [platform, npm::launcher_name(trial.release)].map(|name| trial.release.folder.join(name));
    let npm = |words: &[&str]| {
        let mut npm = Command::new("npm");
        // Packages of other platforms are left out without a question to the registry.
        npm.args(["--offline", "--no-audit", "--no-fund", "--loglevel", "error"])
            .args(words)
            .current_dir(&folder);
        npm
    };
    fs::write(folder.join("package.json"), "{}")?;
    process::run_quietly(npm(&["install"]).args(packages))?;
    let mgp = folder.join("node_modules/.bin/mgp");
    let node = process::installed("node").unwrap_or_default();
    use_command(trial, &folder, &[&node.display().to_string(), &mgp.display().to_string()])?;
    npx(trial, &folder, &node)?;
    let [os, cpu] = trial.target.node.as_ref().context("npm has no packages for the target")?;
    process::run_quietly(&mut npm(&["uninstall", "@mgp/cli", &format!("@mgp/cli-{os}-{cpu}")]))?;
    ensure!(!mgp.exists(), "npm leaves {}", mgp.display());
    Ok(Outcome::Passed)
}

/// Uses the installed packages of npm as a client does whose configuration says `npx @mgp/cli serve`.
fn npx(trial: &Trial<'_>, folder: &Path, node: &Path) -> Result<()> {
    let npm = process::installed("npm").context("`npm` is not installed")?.display().to_string();
    let words = [npm.as_str(), "exec", "--offline", "--no", "--", "@mgp/cli"];
    let mut place = Place::here(folder.join("npx"), &words)?;
    let beside = node.parent().context("`node` lies in no folder")?.display();
    let path = format!("{beside}:{}", place.variables["PATH"]);
    place.variables.insert("PATH".to_owned(), path);
    place.says_version(&trial.release.version)?;
    let mut status = place.mgp(&["status"]);
    let ended = process::status_within(status.stdout(Stdio::null()), LIMIT)?;
    ensure!(
        ended.is_some_and(|ended| ended.code() == Some(4)),
        "`npx @mgp/cli status` without a kernel: {ended:?}"
    );
    let mut session = Session::start(&mut place.mgp(&["serve"]), Era::Legacy)?;
    let answer = session.ask("tools/list", json!({}))?;
    ensure!(answer.contains("\"tools\""), "`npx @mgp/cli serve` answers {answer}");
    Ok(())
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
    process::run_quietly(&mut pip(&["uninstall", "--yes", "mgp"]))?;
    ensure!(!mgp.exists(), "pip leaves {}", mgp.display());
    Ok(Outcome::Passed)
}

/// Runs the wheel by `uvx`.
pub(super) fn uvx(trial: &Trial<'_>) -> Result<Outcome> {
    let uv = match python::environment(&trial.release.work.join("uv"), &["uv"]) {
        Ok(python) => python.with_file_name("uv"),
        Err(error) => return Ok(unfetched("uv", &error)),
    };
    let folder = trial.release.empty("trial/uvx")?;
    let package = trial.release.folder.join(wheel::name(trial.release, trial.target));
    let mut uvx = Command::new(uv);
    uvx.args(["tool", "run", "--offline", "--quiet", "--cache-dir"]).arg(folder.join("cache"));
    let printed = process::output(uvx.arg("--from").arg(&package).args(["mgp", "--version"]))?;
    ensure!(printed.contains(&trial.release.version), "`uvx mgp --version` printed `{printed}`");
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

fn use_program(trial: &Trial<'_>, folder: &Path, mgp: &Path) -> Result<Outcome> {
    use_command(trial, folder, &[&std::path::absolute(mgp)?.display().to_string()])
}

/// Uses `mgp` with a home of its own in a folder, and ends what may still run for it.
fn use_command(trial: &Trial<'_>, folder: &Path, words: &[&str]) -> Result<Outcome> {
    let place = Place::here(folder.join("home"), words)?;
    place.works(&trial.release.version)?;
    fs::remove_dir_all(&place.home)?;
    Ok(Outcome::Passed)
}

const LIMIT: Duration = Duration::from_mins(2);
