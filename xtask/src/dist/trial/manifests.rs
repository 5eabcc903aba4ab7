//! The checksums, the signature, and what Homebrew and Nix read.

use std::{fs, process::Command};

use anyhow::{Context, Result, ensure};

use super::report::{Outcome, missing};
use crate::{
    dist::{checksums, manifests::formula_name, release::Release},
    process,
};

/// Compares the packages with their checksums.
pub(super) fn checksums(release: &Release) -> Result<Outcome> {
    checksums::verify(&release.folder)?;
    Ok(Outcome::Passed)
}

/// Signs a copy of the checksums with a new key, verifies them, changes them, and has them refused.
pub(super) fn signature(release: &Release) -> Result<Outcome> {
    if let Some(left_out) = missing(&[("minisign", "minisign")]) {
        return Ok(left_out);
    }
    let folder = release.empty("trial/signature")?;
    let (secret, public) = (folder.join("mgp.key"), folder.join("mgp.pub"));
    let mut generate = Command::new("minisign");
    generate.args(["-G", "-W", "-s"]).arg(&secret).arg("-p").arg(&public);
    ensure!(process::succeeds(&mut generate), "minisign makes no key");
    for name in checksums::SIGNED {
        fs::copy(release.folder.join(name), folder.join(name))?;
    }
    checksums::sign(release, &folder, &secret)?;
    checksums::verify_signatures(&folder, &public)?;
    let changed = folder.join(checksums::SIGNED[0]);
    fs::write(&changed, fs::read_to_string(&changed)? + "\n")?;
    ensure!(checksums::verify_signatures(&folder, &public).is_err(), "a changed file keeps its signature");
    Ok(Outcome::Passed)
}

/// Has Ruby read the formula of Homebrew, which names archives that lie beside it.
pub(super) fn formula(release: &Release) -> Result<Outcome> {
    if let Some(left_out) = missing(&[("ruby", "ruby")]) {
        return Ok(left_out);
    }
    let formula = release.folder.join(formula_name(release));
    let printed = process::output(Command::new("ruby").args(["-e", READ_FORMULA]).arg(formula))?;
    for url in printed.lines() {
        let path = url.strip_prefix("file://").with_context(|| format!("the formula names {url}"))?;
        ensure!(fs::exists(path)?, "the formula names {path}, which is not there");
    }
    Ok(Outcome::Passed)
}

/// Has Nix read the flake.
pub(super) fn flake(release: &Release) -> Result<Outcome> {
    if let Some(left_out) = missing(&[("nix-instantiate", "nix-bin")]) {
        return Ok(left_out);
    }
    process::run_quietly(
        Command::new("nix-instantiate").arg("--parse").arg(release.folder.join("flake.nix")),
    )?;
    Ok(Outcome::Passed)
}

/// Reads a formula as Homebrew does, and prints the addresses that it names.
const READ_FORMULA: &str = "
class Formula
  def self.test = nil
  def self.method_missing(name, *words, **) = name == :url ? puts(words) : (yield if block_given?)
end
load File.expand_path(ARGV[0])
";
