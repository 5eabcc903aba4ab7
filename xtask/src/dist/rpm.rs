//! The package of Fedora, openSUSE and their relatives, made by `rpmbuild`.

use std::{fmt::Write as _, fs, process::Command};

use anyhow::Result;

use super::{
    contents::{CONFIGURATION, Contents},
    release::Release,
    targets::Target,
};
use crate::process;

/// Writes the package.
///
/// # Errors
/// Fails if `rpmbuild` is not installed.
pub(super) fn write(release: &Release, target: &Target, contents: &Contents) -> Result<()> {
    process::require("rpmbuild", "the package `rpm` of Debian, `rpm-build` of Fedora")?;
    let folder = release.empty("rpm")?;
    let mut files = contents.installed(release)?;
    files.add("usr/share/zsh/site-functions/_mgp", contents.zsh()?);
    let staged = folder.join("files");
    files.write_to(&staged)?;
    let mut list = String::new();
    for (path, _) in files.files() {
        let note = if path == CONFIGURATION { "%config(noreplace) " } else { "" };
        let _ = writeln!(list, "{note}/{path}");
    }
    let staged = staged.display().to_string();
    let spec = folder.join("mgp.spec");
    let values = [("files", staged.as_str()), ("list", &list)];
    fs::write(&spec, release.filled(include_str!("../../dist/rpm/mgp.spec"), &values)?)?;
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--quiet", "--target", &format!("{}-linux", target.architecture)]);
    build.arg("--define").arg(format!("_topdir {}", folder.display()));
    build.args(["--define", "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm"]);
    // The macros of a user and the language of a machine have no part in the package.
    build.env("HOME", &folder).env("LC_ALL", "C").env("SOURCE_DATE_EPOCH", release.time.to_string());
    process::run_quietly(build.arg(&spec))?;
    let name = name(release, target);
    release.write(&name, &fs::read(folder.join("RPMS").join(&name))?)
}

/// Returns the name of the package's file.
pub(super) fn name(release: &Release, target: &Target) -> String {
    format!("{}-{}-1.{}.rpm", release.names.system, release.version, target.architecture)
}
