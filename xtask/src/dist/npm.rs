//! The packages of npm: one with the programs for each platform, and one that starts those of the platform it is on.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::{
    contents::Contents,
    release::Release,
    targets::{self, Target},
    tree::FileTree,
};

/// Writes the package of the target's platform, and the one that everybody names.
pub(super) fn write(release: &Release, target: &Target, contents: &Contents) -> Result<()> {
    let [os, cpu] = target.node.as_ref().context("npm has no packages for the target")?;
    let values = [("os", os.as_str()), ("cpu", cpu), ("platform", &format!("{os}-{cpu}"))];
    let mut files = FileTree::default();
    files.add("package/package.json", release.filled(PLATFORM, &values)?.into_bytes());
    files.add("package/README.md", release.filled(README, &[])?.into_bytes());
    files.add_tree("package/bin", &contents.programs);
    files.add_tree("package", &contents.licences);
    release.write(&platform_name(release, target)?, &release.tar_gz(&files)?)?;
    release.write(&launcher_name(release), &release.tar_gz(&launcher(release, contents)?)?)
}

fn launcher(release: &Release, contents: &Contents) -> Result<FileTree> {
    let mut platforms = String::new();
    for [os, cpu] in targets::supported().filter_map(|target| target.node) {
        let separator = if platforms.is_empty() { "" } else { "," };
        let _ = write!(platforms, "{separator}\n    \"@mgp/cli-{os}-{cpu}\": \"{}\"", release.version);
    }
    let mut files = FileTree::default();
    files.add("package/package.json", release.filled(CLI, &[("platforms", &platforms)])?.into_bytes());
    files.add("package/README.md", release.filled(README, &[])?.into_bytes());
    files.add_program("package/mgp.js", release.filled(LAUNCHER, &[])?.into_bytes());
    for (name, text) in contents.licences.files().filter(|(name, _)| name.starts_with("LICENSE")) {
        files.add(format!("package/{name}"), text);
    }
    Ok(files)
}

/// Returns the name of the file of the platform's package, which is the one that `npm pack` gives.
pub(super) fn platform_name(release: &Release, target: &Target) -> Result<String> {
    let [os, cpu] = target.node.as_ref().context("npm has no packages for the target")?;
    Ok(format!("mgp-cli-{os}-{cpu}-{}.tgz", release.version))
}

/// Returns the name of the file of the package that everybody names.
pub(super) fn launcher_name(release: &Release) -> String {
    format!("mgp-cli-{}.tgz", release.version)
}

const CLI: &str = include_str!("../../dist/npm/cli.json");
const LAUNCHER: &str = include_str!("../../dist/npm/launcher.js");
const PLATFORM: &str = include_str!("../../dist/npm/platform.json");
const README: &str = include_str!("../../dist/npm/README.md");
