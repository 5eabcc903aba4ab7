//! The programs of a target: built so that every build of a commit makes the same bytes, or given.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
};

use anyhow::{Context, Result, bail, ensure};

use super::{
    release::Release,
    targets::{Compiler, Target},
};
use crate::workspace::{WITH_ALL_PARTS, Workspace};
use crate::{process, python};

/// The programs of a target.
#[derive(Debug, Clone)]
pub(super) struct Programs {
    /// The file of `mgp`.
    pub(super) path: PathBuf,
    pub(super) mgp: Rc<[u8]>,
    pub(super) patterns: Rc<[u8]>,
}

impl Programs {
    /// Reads `mgp`, and `mgp-patterns` beside it.
    ///
    /// # Errors
    /// Fails if one of them is missing, or is not a program of the target.
    pub(super) fn read(target: &Target, mgp: &Path) -> Result<Self> {
        let patterns = mgp.with_file_name(format!("mgp-patterns{}", target.ending()));
        Ok(Self {
            path: std::path::absolute(mgp)?,
            mgp: read(target, mgp)?,
            patterns: read(target, &patterns)?,
        })
    }

    /// Builds the programs for a target; `mgp self` trusts lists of versions that are signed with the public key.
    ///
    /// # Errors
    /// Fails if they do not compile, or if the target's compiler cannot be installed.
    pub(super) fn build(
        workspace: &Workspace,
        release: &Release,
        target: &Target,
        profile: &str,
        public_key: Option<&Path>,
    ) -> Result<Self> {
        let mut path = vec![auditable(workspace)?];
        let has_rustup = process::installed("rustup").is_some();
        if has_rustup {
            process::run(Command::new("rustup").args(["target", "add", &target.triple]))?;
        }
        let build = match target.compiler {
            Compiler::Zig => {
                path.extend(zig(release)?.parent().map(Path::to_owned));
                "zigbuild"
            }
            Compiler::System => "build",
        };
        path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        let mut cargo = workspace.cargo();
        cargo.args(["auditable", build, "--locked", "--profile", profile, "--target", &target.triple]);
        cargo.args(["-p", "mgp-kernel", "-p", "mgp-patterns", "--bin", "mgp", "--bin", "mgp-patterns"]);
        cargo.arg(WITH_ALL_PARTS);
        cargo.env("PATH", env::join_paths(path)?).env("SOURCE_DATE_EPOCH", release.time.to_string());
        let places = places(workspace)?;
        let remapped = places.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
        cargo.env("CARGO_ENCODED_RUSTFLAGS", remapped.collect::<Vec<_>>().join("\u{1f}"));
        if !target.triple.ends_with("msvc") {
            let mapped = places.iter().map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display()));
            // A date in a program is that of `SOURCE_DATE_EPOCH`, so it needs no warning, which is an error for some targets.
            let flags = mapped.chain(["-Wno-date-time".to_owned()]);
            cargo.env("CFLAGS", flags.collect::<Vec<_>>().join(" "));
        }
        // A package does not know the checkout that it was built from.
        cargo.env("MGP_PACKAGED", "1");
        // A key that the environment of this machine names is not trusted by what is handed out.
        cargo.env_remove("MGP_RELEASES_KEY");
        if let Some(key) = public_key {
            let text = fs::read_to_string(key).with_context(|| format!("cannot read {}", key.display()))?;
            let key =
                text.lines().nth(1).with_context(|| format!("{} is no key of minisign", key.display()))?;
            cargo.env("MGP_RELEASES_KEY", key);
        }
        let stripped = format!("CARGO_PROFILE_{}_STRIP", profile.to_uppercase().replace('-', "_"));
        process::run(cargo.env(stripped, "symbols"))?;
        let folder = workspace.target.join(&target.triple).join(profile);
        Self::read(target, &folder.join(format!("mgp{}", target.ending())))
    }
}

/// Installs the part of cargo that notes in a program from which crates it was built, and returns its folder.
///
/// The folder is the same for all checkouts: cargo makes the names of symbols of the path of whatever calls the compiler.
fn auditable(workspace: &Workspace) -> Result<PathBuf> {
    let tools = cargo_home()?.join(format!("cargo-auditable-{AUDITABLE}"));
    let folder = tools.join("bin");
    if !folder.join(format!("cargo-auditable{}", env::consts::EXE_SUFFIX)).is_file() {
        let mut install = workspace.cargo();
        install.args(["install", "cargo-auditable", "--locked", "--version", AUDITABLE, "--root"]).arg(tools);
        process::run(&mut install)?;
    }
    Ok(folder)
}

fn cargo_home() -> Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    home.or_else(|| Some(env::home_dir()?.join(".cargo"))).context("cargo has no home")
}

/// Returns the folders whose names a program would hold, each with the name that it gets in their place.
fn places(workspace: &Workspace) -> Result<Vec<(PathBuf, &'static str)>> {
    let mut places = vec![(workspace.root.clone(), "/mgp"), (workspace.target.clone(), "/target")];
    let registries = cargo_home()?.join("registry/src");
    for registry in
        fs::read_dir(&registries).with_context(|| format!("cannot list {}", registries.display()))?
    {
        places.push((registry?.path(), "/crates"));
    }
    Ok(places)
}

fn read(target: &Target, path: &Path) -> Result<Rc<[u8]>> {
    let bytes = fs::read(path).with_context(|| format!("there is no program {}", path.display()))?;
    let Some((os, architecture)) = platform(&bytes) else {
        bail!("{} is not a program for Linux, Windows or macOS", path.display());
    };
    ensure!(
        (os, architecture) == (&*target.os, &*target.architecture),
        "{} is a program for {os} on {architecture}, and not for {}",
        path.display(),
        target.triple
    );
    Ok(bytes.into())
}

/// Returns the system and the processor of a program, by its first bytes.
fn platform(program: &[u8]) -> Option<(&'static str, &'static str)> {
    let half = |at: usize| Some(u16::from_le_bytes(program.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(program.get(at..at + 4)?.try_into().ok()?));
    if program.starts_with(b"\x7fELF") {
        let architecture = match half(18)? {
            0x3e => "x86_64",
            0xb7 => "aarch64",
            _ => return None,
        };
        return Some(("linux", architecture));
    }
    if program.starts_with(b"MZ") {
        let header = usize::try_from(word(0x3c)?).ok()?;
        return (half(header + 4)? == 0x8664).then_some(("windows", "x86_64"));
    }
    match (word(0)?, word(4)?) {
        (0xfeed_facf, 0x0100_0007) => Some(("macos", "x86_64")),
        (0xfeed_facf, 0x0100_000c) => Some(("macos", "aarch64")),
        _ => None,
    }
}

const AUDITABLE: &str = "0.7.7";
/// Returns the interpreter of an environment of Python that has the compiler of Zig, and what makes cargo use it.
///
/// # Errors
/// Fails if it cannot be installed.
pub(super) fn zig(release: &Release) -> Result<PathBuf> {
    python::environment(&release.work.join("zig"), &ZIG)
}

const ZIG: [&str; 2] = ["cargo-zigbuild==0.24.1", "ziglang==0.17.1"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::targets;

    fn elf(machine: u8) -> Vec<u8> {
        let mut program = b"\x7fELF".to_vec();
        program.resize(64, 0);
        program[18] = machine;
        program
    }

    #[test]
    fn a_program_tells_its_platform() {
        assert_eq!(platform(&elf(0xb7)), Some(("linux", "aarch64")));
        assert_eq!(platform(b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01"), Some(("macos", "aarch64")));
        let mut windows = b"MZ".to_vec();
        windows.resize(0x80, 0);
        windows[0x3c] = 0x40;
        windows[0x44..0x46].copy_from_slice(&[0x64, 0x86]);
        assert_eq!(platform(&windows), Some(("windows", "x86_64")));
        assert_eq!(platform(b"#!/bin/sh\n"), None);
        assert_eq!(platform(b""), None);
    }

    #[test]
    fn a_program_of_another_platform_is_refused_and_so_is_a_missing_one() {
        let folder = env::temp_dir().join(format!("mgp-dist-programs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mgp = folder.join("mgp");
        let target = targets::named("aarch64-unknown-linux-musl").unwrap();
        let refusal = || Programs::read(&target, &mgp).unwrap_err().to_string();
        assert!(refusal().contains("there is no program"), "{}", refusal());
        fs::write(&mgp, elf(0x3e)).unwrap();
        assert!(refusal().contains("for linux on x86_64, and not for aarch64"), "{}", refusal());
        fs::write(&mgp, elf(0xb7)).unwrap();
        assert!(refusal().contains("mgp-patterns"), "{}", refusal());
        fs::remove_dir_all(folder).unwrap();
    }
}
