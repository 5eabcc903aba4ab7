//! The wheel of Python's package index, whose scripts are the programs.

use std::fmt::Write as _;

use anyhow::Result;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::{
    contents::{BILL, Contents},
    release::Release,
    targets::Target,
    tree::FileTree,
};

/// Writes the wheel.
pub(super) fn write(release: &Release, target: &Target, contents: &Contents) -> Result<()> {
    let own = own_name(release);
    let readme = release.filled(include_str!("../../dist/wheel/README.md"), &[])?;
    let metadata = release.filled(include_str!("../../dist/wheel/METADATA"), &[("readme", &readme)])?;
    let tags = target.wheel.iter().fold(String::new(), |tags, tag| format!("{tags}Tag: py3-none-{tag}\n"));
    let wheel = release.filled(include_str!("../../dist/wheel/WHEEL"), &[("tags", tags.trim_end())])?;
    let mut files = FileTree::default();
    files.add_tree(&format!("{own}.data/scripts"), &contents.programs);
    for (name, text) in contents.licences.files() {
        // Tools of Python look for bills of materials in a folder of their own.
        let folder = if name == BILL { "sboms" } else { "licenses" };
        files.add(format!("{own}.dist-info/{folder}/{name}"), text);
    }
    files.add(format!("{own}.dist-info/METADATA"), metadata.into_bytes());
    files.add(format!("{own}.dist-info/WHEEL"), wheel.into_bytes());
    let mut record = String::new();
    for (path, content) in files.files() {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(content));
        let _ = writeln!(record, "{path},sha256={digest},{}", content.len());
    }
    let _ = writeln!(record, "{own}.dist-info/RECORD,,");
    files.add(format!("{own}.dist-info/RECORD"), record.into_bytes());
    release.write(&name(release, target), &release.zip(&files)?)
}

/// Returns the name of the wheel's file.
pub(super) fn name(release: &Release, target: &Target) -> String {
    format!("{}-py3-none-{}.whl", own_name(release), target.wheel.join("."))
}

/// Returns the name of the project with its version, as names of files have it.
fn own_name(release: &Release) -> String {
    format!("{}-{}", release.names.pypi.replace('-', "_"), release.version)
}
