//! The public items of a former version, all of which a compatible version still has.

use std::{fs, process::Command};

use anyhow::{Context, Result};

use super::{listing::Listing, rustdoc};
use crate::{
    process,
    workspace::{Package, Workspace},
};

/// The sources of a tag, with a target folder of their own.
pub(super) struct FormerVersion<'a> {
    tag: &'a str,
    workspace: Workspace,
}

impl<'a> FormerVersion<'a> {
    /// Unpacks the sources of a tag, a branch or a commit below the target folder.
    pub(super) fn unpack(workspace: &Workspace, tag: &'a str) -> Result<Self> {
        let folder = workspace.target.join("api");
        let (archive, sources) = (folder.join("former.tar"), folder.join("former"));
        if sources.exists() {
            fs::remove_dir_all(&sources)?;
        }
        fs::create_dir_all(&sources)?;
        let mut git = Command::new("git");
        git.current_dir(&workspace.root).arg("archive").arg("--output").arg(&archive).args(["--", tag]);
        process::run_quietly(&mut git)
            .with_context(|| format!("`{tag}` is not there: `git tag` lists what --against takes"))?;
        tar::Archive::new(fs::File::open(&archive)?).unpack(&sources)?;
        let mut workspace = Workspace::at(&sources)?;
        workspace.target = folder.join("target");
        Ok(Self { tag, workspace })
    }

    /// Names the items that a library had, and that its version promises to have still.
    pub(super) fn faults(&self, package: &Package, now: &Listing) -> Result<Vec<String>> {
        let former = self.workspace.members().into_iter().find(|former| former.name == package.name);
        let Some(former) = former.filter(|former| is_compatible(&former.version, &package.version)) else {
            return Ok(Vec::new());
        };
        let before = Listing::read(&rustdoc::document(&self.workspace, former)?)?;
        let fault =
            |item| format!("{item}: gone or changed since {}: keep it, or raise the version", self.tag);
        Ok(before.without(now).map(fault).collect())
    }
}

/// Returns whether a version promises what a former one has: it has the same major version, and of 0 the same minor one.
fn is_compatible(former: &str, version: &str) -> bool {
    let promised = |version: &str| {
        let numbers: Vec<_> = version.split('.').map(str::to_owned).collect();
        let count = if numbers[0] == "0" { 2 } else { 1 };
        numbers.into_iter().take(count).collect::<Vec<_>>()
    };
    promised(former) == promised(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_the_same_major_number_promises_what_the_former_has_and_of_zero_the_same_minor_one() {
        assert!(is_compatible("0.1.0", "0.1.7") && is_compatible("1.2.0", "1.3.0"));
        assert!(!is_compatible("0.1.0", "0.2.0") && !is_compatible("1.2.0", "2.0.0"));
    }
}
