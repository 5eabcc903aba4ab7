//! The checksums, the signature, and the syntax and shape of what other package managers and registries read.

use std::{fs, process::Command};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::report::{Outcome, missing};
use crate::{
    dist::{
        checksums,
        manifests::{WINGET, WINGET_ID},
        release::Release,
    },
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

/// Has Ruby read the formula of Homebrew.
pub(super) fn formula(release: &Release) -> Result<Outcome> {
    if let Some(left_out) = missing(&[("ruby", "ruby")]) {
        return Ok(left_out);
    }
    process::run_quietly(Command::new("ruby").arg("-c").arg(release.folder.join("mgp.rb")))?;
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

/// Has Ruby read the manifests of winget.
pub(super) fn winget(release: &Release) -> Result<Outcome> {
    if let Some(left_out) = missing(&[("ruby", "ruby")]) {
        return Ok(left_out);
    }
    let files = WINGET.map(|(ending, _)| release.folder.join(format!("{WINGET_ID}{ending}")));
    if !files[0].exists() {
        return Ok(Outcome::LeftOut("there is no archive for Windows".to_owned()));
    }
    let script = "require 'yaml'; ARGV.each { |file| YAML.safe_load(File.read(file)) }";
    process::run_quietly(Command::new("ruby").args(["-e", script]).args(files))?;
    Ok(Outcome::Passed)
}

/// The shape of `server.json`, as far as it is used.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ServerJson {
    #[serde(rename = "$schema")]
    schema: String,
    name: String,
    #[expect(dead_code, reason = "only its presence is looked at")]
    title: String,
    description: String,
    #[expect(dead_code, reason = "only its presence is looked at")]
    repository: Value,
    version: String,
    packages: Vec<PackageEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the presence of most is looked at")]
struct PackageEntry {
    registry_type: String,
    identifier: String,
    version: String,
    runtime_hint: String,
    transport: Value,
    package_arguments: Vec<Value>,
}

/// Reads `server.json` by its shape.
pub(super) fn server_json(release: &Release) -> Result<Outcome> {
    let text = fs::read_to_string(release.folder.join("server.json"))?;
    let server: ServerJson = serde_json::from_str(&text).context("server.json has another shape")?;
    ensure!(server.schema.ends_with("/server.schema.json"), "server.json names the schema {}", server.schema);
    ensure!(
        server.name.split('/').count() == 2,
        "the name {} is not of the form `namespace/name`",
        server.name
    );
    ensure!(server.description.len() <= 100, "the description has more than 100 characters");
    let versions = server.packages.iter().map(|package| &package.version).chain([&server.version]);
    ensure!(versions.into_iter().all(|version| *version == release.version), "the versions differ");
    Ok(Outcome::Passed)
}
