//! The archive of a target: what one unpacks where no package manager helps.

use anyhow::Result;

use super::{contents::Contents, release::Release, targets::Target, tree::FileTree};

/// Writes the archive: a zip archive for Windows, and else one of tar and gzip.
pub(super) fn write(release: &Release, target: &Target, contents: &Contents) -> Result<()> {
    let folder = release.name_for(&target.triple);
    let mut files = FileTree::default();
    files.add_tree(&folder, &contents.programs);
    files.add_tree(&format!("{folder}/man"), &contents.pages);
    files.add_tree(&format!("{folder}/completions"), &contents.completions);
    files.add_tree(&format!("{folder}/licences"), &contents.licences);
    let bytes = if target.os == "windows" { release.zip(&files)? } else { release.tar_gz(&files)? };
    release.write(&name(release, target), &bytes)
}

/// Returns the name of the archive's file.
pub(super) fn name(release: &Release, target: &Target) -> String {
    let ending = if target.os == "windows" { "zip" } else { "tar.gz" };
    format!("{}.{ending}", release.name_for(&target.triple))
}
