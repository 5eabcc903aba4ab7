//! Asking rustdoc for JSON, which the stable one writes only when told that unstable options are meant.

use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::{
    process,
    workspace::{Package, Workspace},
};

/// The options that make rustdoc write JSON in place of HTML.
pub(super) const JSON: [&str; 4] = ["-Z", "unstable-options", "--output-format", "json"];

/// The variable by which a stable rustdoc takes unstable options. Build scripts that see it have to run anew, and all
/// that depends on them, so that only rustdoc may see it: cargo starts this program in its place.
pub(super) const UNSTABLE: &str = "RUSTC_BOOTSTRAP";

/// The variable that names the rustdoc in whose place this program runs.
const STANDS_FOR: &str = "XTASK_STANDS_FOR_RUSTDOC";

/// The toolchain whose JSON `public-api` reads; another one also names items of the standard library by other paths.
const TOOLCHAIN: &str = "1.95";

/// Returns why no listing can be made here, if none can.
pub(crate) fn obstacle() -> Result<Option<String>> {
    if !cfg!(target_os = "linux") {
        return Ok(Some("the public items are those on Linux".into()));
    }
    let version = process::output(Command::new(program()).arg("--version"))?;
    Ok((!is_known(&version)).then(|| {
        format!(
            "{} writes other JSON than that of {TOOLCHAIN}: run `cargo +{TOOLCHAIN} xtask api`",
            version.trim()
        )
    }))
}

fn is_known(version: &str) -> bool {
    let number = version.strip_prefix("rustdoc ").and_then(|rest| rest.strip_prefix(TOOLCHAIN));
    number.is_some_and(|rest| rest.starts_with('.'))
}

fn program() -> OsString {
    env::var_os("RUSTDOC").unwrap_or_else(|| OsString::from("rustdoc"))
}

/// Documents the library of a package with all its features, and returns where the JSON is.
pub(super) fn document(workspace: &Workspace, package: &Package) -> Result<PathBuf> {
    let this = env::current_exe().context("the path of this program is unknown")?;
    let mut cargo = workspace.cargo();
    cargo.args(["rustdoc", "--quiet", "--lib", "--all-features", "-p", &package.name, "--target-dir"]);
    cargo.arg(&workspace.target).arg("--").args(JSON);
    process::run(cargo.env("RUSTDOC", this).env(STANDS_FOR, program()))?;
    Ok(workspace.target.join("doc").join(package.name.replace('-', "_")).with_extension("json"))
}

/// Runs rustdoc with this program's arguments, if cargo started this program in its place.
pub(crate) fn stand_in() -> Option<ExitCode> {
    let rustdoc = env::var_os(STANDS_FOR)?;
    let status = Command::new(rustdoc).args(env::args_os().skip(1)).env(UNSTABLE, "1").status();
    Some(if status.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_toolchain_whose_json_is_read_is_known() {
        assert!(is_known("rustdoc 1.95.0 (59807616e 2026-04-14)\n"));
        for other in ["rustdoc 1.96.0 (abc 2026-05-28)", "rustdoc 1.950.0", "rustc 1.95.0", ""] {
            assert!(!is_known(other), "{other}");
        }
    }
}
