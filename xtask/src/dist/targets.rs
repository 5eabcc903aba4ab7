//! The targets that packages are made for, and what each kind of package calls them.

use std::env::consts;

use anyhow::{Context, Result};
use serde::Deserialize;

/// A target of the programs; names that are left out belong to packages that are not made for it.
#[derive(Debug, Deserialize)]
pub(super) struct Target {
    /// The name that Rust has for the target.
    pub(super) triple: String,
    /// The system, as Rust names it: `linux`, `windows` or `macos`.
    pub(super) os: String,
    /// The processor, as Rust and rpm name it.
    pub(super) architecture: String,
    /// The processor, as Debian and images name it.
    #[serde(default)]
    pub(super) debian: String,
    /// The system and the processor, as Node names them.
    #[serde(default)]
    pub(super) node: Option<[String; 2]>,
    /// The system, as Nix names it.
    #[serde(default)]
    pub(super) nix: Option<String>,
    /// The platforms of the wheel.
    #[serde(default)]
    pub(super) wheel: Vec<String>,
    pub(super) compiler: Compiler,
    pub(super) packages: Vec<Kind>,
}

/// The compiler and the linker of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Compiler {
    /// Zig, which has what it takes for other systems: any Linux builds for the target.
    Zig,
    /// Those of a machine of the target's system.
    System,
}

/// A kind of package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Archive,
    Deb,
    Rpm,
    Oci,
    Npm,
    Wheel,
    Mcpb,
}

/// Returns all targets.
pub(super) fn all() -> Vec<Target> {
    serde_json::from_str(include_str!("../../dist/targets.json")).expect("a test reads the file")
}

/// Returns the target of a name.
///
/// # Errors
/// Fails if packages are made for no target of this name.
pub(super) fn named(triple: &str) -> Result<Target> {
    all().into_iter().find(|target| target.triple == triple).with_context(|| {
        let names: Vec<_> = all().into_iter().map(|target| target.triple).collect();
        format!("no packages are made for the target `{triple}`; choose one of {}", names.join(", "))
    })
}

/// Returns the target whose programs run on this machine.
///
/// # Errors
/// Fails if packages are made for no such target.
pub(super) fn host() -> Result<Target> {
    all().into_iter().find(Target::runs_here).with_context(|| {
        format!("no packages are made for {} on {}; choose a --target", consts::OS, consts::ARCH)
    })
}

impl Target {
    /// Returns whether the programs run on this machine.
    pub(super) fn runs_here(&self) -> bool {
        self.os == consts::OS && self.architecture == consts::ARCH
    }

    /// Returns the ending of the names of programs.
    pub(super) fn ending(&self) -> &'static str {
        if self.os == "windows" { ".exe" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_the_names_that_its_packages_take() {
        for target in all() {
            for kind in &target.packages {
                let is_named = match kind {
                    Kind::Deb | Kind::Oci => !target.debian.is_empty(),
                    Kind::Npm | Kind::Mcpb => target.node.is_some(),
                    Kind::Wheel => !target.wheel.is_empty(),
                    Kind::Archive | Kind::Rpm => true,
                };
                assert!(is_named, "{} {kind:?}", target.triple);
            }
        }
    }

    #[test]
    fn a_target_without_packages_is_named_with_those_that_have_some() {
        let error = named("sparc-unknown-none").unwrap_err().to_string();
        assert!(
            error.contains("`sparc-unknown-none`") && error.contains("aarch64-unknown-linux-musl"),
            "{error}"
        );
    }

    #[test]
    fn windows_has_programs_that_any_linux_builds() {
        let target = named("x86_64-pc-windows-gnu").unwrap();
        assert_eq!((target.compiler, target.ending()), (Compiler::Zig, ".exe"));
    }
}
