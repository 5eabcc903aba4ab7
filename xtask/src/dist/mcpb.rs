//! The bundle of Claude Desktop, which a click installs.

use anyhow::{Context, Result};

use super::{contents::Contents, release::Release, targets::Target, tree::FileTree};

/// Writes the bundle.
pub(super) fn write(release: &Release, target: &Target, contents: &Contents) -> Result<()> {
    let [os, _] = target.node.as_ref().context("there is no Claude Desktop for the target")?;
    let values = [("ending", target.ending()), ("platform", os)];
    let mut files = FileTree::default();
    files.add("manifest.json", release.filled(include_str!("../../dist/mcpb.json"), &values)?.into_bytes());
    files.add_tree("server", &contents.programs);
    files.add_tree("licences", &contents.licences);
    release.write(&name(release, target), &release.zip(&files)?)
}

/// Returns the name of the bundle's file.
pub(super) fn name(release: &Release, target: &Target) -> String {
    format!("{}.mcpb", release.name_for(&target.triple))
}
