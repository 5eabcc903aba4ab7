//! A release: the version that is packed, the time of its files, and the folder that gets the packages.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use flate2::Compression;

use super::tree::{FileTree, gzip, unwritten};
use crate::{
    process,
    workspace::{PackageNames, Workspace},
};

/// A version of the programs as it is packed.
#[derive(Debug)]
pub(super) struct Release {
    pub(super) version: String,
    /// The time of the commit, in seconds since 1970, and as RFC 3339 has it.
    pub(super) time: u64,
    pub(super) date: String,
    pub(super) names: PackageNames,
    /// The folder of the packages.
    pub(super) folder: PathBuf,
    /// The folder of what is made on the way, and of programs that help.
    pub(super) work: PathBuf,
    pub(super) compression: Compression,
}

impl Release {
    /// Returns the release of this checkout.
    ///
    /// # Errors
    /// Fails if git does not tell the time of the commit.
    pub(super) fn of(workspace: &Workspace, compression: Compression) -> Result<Self> {
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            process::output(git.current_dir(&workspace.root).env("TZ", "UTC").args(arguments))
        };
        let format = "--date=format-local:%Y-%m-%dT%H:%M:%SZ";
        let times = git(&["log", "-1", "--format=%ct %cd", format])
            .context("the files of a package have the time of the commit, so a checkout by git is needed")?;
        let (time, date) = times.trim().split_once(' ').context("git told no time of the commit")?;
        if !git(&["status", "--porcelain"])?.is_empty() {
            println!(
                "note: the checkout has changes that are not committed, so nobody can make these packages again"
            );
        }
        let kernel = workspace.require_member("mgp-kernel")?;
        let folder = workspace.target.join("dist/packages");
        fs::create_dir_all(&folder).with_context(|| unwritten(&folder))?;
        Ok(Self {
            version: kernel.version.clone(),
            time: time.parse()?,
            date: date.to_owned(),
            names: workspace.names()?.clone(),
            folder,
            work: workspace.target.join("dist/work"),
            compression,
        })
    }

    /// Returns a release whose packages are written to a new folder of this name.
    #[cfg(test)]
    pub(super) fn sample(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("mgp-dist-{name}-{}", std::process::id()));
        Self {
            version: "1.2.3".to_owned(),
            time: 1_000_000_000,
            date: "2001-09-09T01:46:40Z".to_owned(),
            names: PackageNames::sample(),
            folder: empty(&folder).expect("folders for what is temporary can be written"),
            work: folder,
            compression: Compression::fast(),
        }
    }

    /// Returns the name that archives and the like of a target begin with.
    pub(super) fn name_for(&self, triple: &str) -> String {
        format!("mgp-{}-{triple}", self.version)
    }

    /// Returns a template with `@version@` and the like replaced, by `values` besides those of the release.
    ///
    /// # Errors
    /// Fails if a name of the template has no value.
    pub(super) fn filled(&self, template: &str, values: &[(&str, &str)]) -> Result<String> {
        let own = [
            ("version", self.version.as_str()),
            ("npm", &self.names.npm),
            ("pypi", &self.names.pypi),
            ("system", &self.names.system),
            ("description", DESCRIPTION),
            ("created", &self.date),
        ];
        let mut text = template.to_owned();
        for (name, value) in own.iter().chain(values) {
            text = text.replace(&format!("@{name}@"), value);
        }
        match unfilled(&text) {
            Some(name) => bail!("a template has `@{name}@`, which has no value"),
            None => Ok(text),
        }
    }

    /// Returns a tar archive compressed by gzip.
    pub(super) fn tar_gz(&self, files: &FileTree) -> Result<Vec<u8>> {
        gzip(&files.tar(self.time)?, self.compression)
    }

    /// Returns a zip archive.
    pub(super) fn zip(&self, files: &FileTree) -> Result<Vec<u8>> {
        files.zip(self.compression)
    }

    /// Writes a package, and tells its size.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, bytes).with_context(|| unwritten(&path))?;
        println!("{:8.1} MB  {name}", megabytes(bytes.len()));
        Ok(())
    }

    /// Returns an empty folder for what is made on the way.
    pub(super) fn empty(&self, name: &str) -> Result<PathBuf> {
        empty(&self.work.join(name))
    }
}

/// Makes a folder, in the place of what there was.
pub(super) fn empty(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| unwritten(folder))?;
    Ok(folder.to_owned())
}

/// Returns the first name that stands between two `@`.
fn unfilled(text: &str) -> Option<&str> {
    let is_name = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let mut words = text.split('@');
    // What stands before the first and behind the last `@` is between no two.
    words.next();
    words.next_back();
    words.find(is_name)
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below the limit, and shown with one digit")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// What packages say of the programs, in less than eighty characters.
pub(super) const DESCRIPTION: &str = "Security gateway between MCP clients and MCP servers";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_value_is_found_and_the_name_of_a_package_is_none() {
        assert_eq!(unfilled("a @version@ b"), Some("version"));
        assert_eq!(unfilled(r#""@types/node": "@types/web""#), None);
        assert_eq!(unfilled("mail@example"), None);
    }
}
