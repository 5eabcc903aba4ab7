//! The package of npm for a platform, whose commands are the programs. It depends on no other package, and has no install script.

use anyhow::{Context, Result};

use super::{contents::Contents, release::Release, targets::Target, tree::FileTree};

/// Writes the package.
pub(super) fn write(release: &Release, target: &Target, contents: &Contents) -> Result<()> {
    let [os, cpu] = target.node.as_ref().context("npm has no packages for the target")?;
    let values = [("os", os.as_str()), ("cpu", cpu), ("ending", target.ending())];
    let mut files = FileTree::default();
    files.add("package/package.json", release.filled(PACKAGE, &values)?.into_bytes());
    files.add("package/README.md", release.filled(README, &[])?.into_bytes());
    files.add_tree("package/bin", &contents.programs);
    files.add_tree("package", &contents.licences);
    release.write(&name(release, target)?, &release.tar_gz(&files)?)
}

/// Returns the name of the package's file.
pub(super) fn name(release: &Release, target: &Target) -> Result<String> {
    let [os, cpu] = target.node.as_ref().context("npm has no packages for the target")?;
    Ok(format!("{}-{}-{os}-{cpu}.tgz", release.names.npm, release.version))
}

const PACKAGE: &str = include_str!("../../dist/npm/package.json");
const README: &str = include_str!("../../dist/npm/README.md");
