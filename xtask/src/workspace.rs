//! The workspace as `cargo metadata` and the file tree describe it.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{self, Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process;

/// How the variables begin by which cargo tells a program that it runs what package it is.
const TOLD_BY_CARGO: [&str; 2] = ["CARGO_PKG_", "CARGO_MANIFEST_"];

/// The workspace as `cargo metadata` describes it.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    packages: Vec<Package>,
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    #[serde(rename = "target_directory")]
    pub(crate) target: PathBuf,
    #[serde(default)]
    metadata: Option<WorkspaceMetadata>,
    /// The folder of programs that are tried in the place of what is built in release mode: `mgp`, and `examples`.
    #[serde(skip)]
    pub(crate) programs: Option<PathBuf>,
}

/// The table `[workspace.metadata]`.
#[derive(Deserialize)]
struct WorkspaceMetadata {
    names: PackageNames,
}

/// The names that packages have, those of crates aside.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PackageNames {
    pub(crate) npm: String,
    pub(crate) pypi: String,
    /// The name for Debian, rpm, Homebrew and Nix.
    pub(crate) system: String,
    /// The name that the image has where it is loaded.
    pub(crate) image: String,
}

/// A crate of this workspace.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
    /// The indexes that may have the crate; nothing if all of them may.
    pub(crate) publish: Option<Vec<String>>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) targets: Vec<Target>,
}

/// A target that cargo builds of a crate.
#[derive(Deserialize)]
pub(crate) struct Target {
    kind: Vec<String>,
}

/// An arrow of the dependency graph, as the manifest declares it.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev`, `build`, or nothing for a normal one.
    pub(crate) kind: Option<String>,
}

/// Adds to the kernel what its usual build leaves out. What is tried, linted and handed out has it.
pub(crate) const WITH_ALL_PARTS: &str = "--features=mgp-kernel/full";

/// Which features something is built with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Features {
    Default,
    Only(&'static str),
}

/// How something is built.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Profile {
    /// Soon built; what is tried.
    Release,
    /// Built as what is handed out; what is measured.
    Dist,
}

impl Profile {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }
}

#[cfg(test)]
impl PackageNames {
    /// Returns names that nothing has.
    pub(crate) fn sample() -> Self {
        let [npm, pypi, system, image] =
            ["on-npm", "on-pypi", "on-systems", "localhost/image"].map(str::to_owned);
        Self { npm, pypi, system, image }
    }
}

impl Workspace {
    /// Asks cargo, from the folder of this crate upwards.
    pub(crate) fn load() -> Result<Self> {
        Self::at(Path::new(env!("CARGO_MANIFEST_DIR")))
    }

    /// Asks cargo, from a folder upwards.
    pub(crate) fn at(folder: &Path) -> Result<Self> {
        let json = process::output(
            Command::new(env!("CARGO"))
                .args(["metadata", "--format-version", "1", "--no-deps"])
                .current_dir(folder),
        )?;
        serde_json::from_str(&json).context("cargo metadata wrote JSON of an unknown form")
    }

    /// The crates of this workspace, by name.
    pub(crate) fn members(&self) -> Vec<&Package> {
        let mut members: Vec<_> = self.packages.iter().collect();
        members.sort_by(|a, b| a.name.cmp(&b.name));
        members
    }

    /// Returns the names that packages have.
    ///
    /// # Errors
    /// Fails if the root manifest has no table of them, as in an old checkout.
    pub(crate) fn names(&self) -> Result<&PackageNames> {
        let metadata = self.metadata.as_ref();
        metadata
            .map(|metadata| &metadata.names)
            .context("the root Cargo.toml has no table [workspace.metadata.names]")
    }

    /// Fails when a crate is not there yet.
    pub(crate) fn require_member(&self, name: &str) -> Result<&Package> {
        self.members().into_iter().find(|p| p.name == name).with_context(|| {
            format!("the workspace has no crate `{name}` yet: this chore needs its examples")
        })
    }

    /// A command `cargo` that runs at the root, as it would from a shell: what cargo tells this program
    /// of its own package would make build scripts that watch for it, and all that uses them, run anew.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(&self.root);
        for (name, _) in env::vars_os() {
            let is_set_by_cargo =
                name.to_str().is_some_and(|name| TOLD_BY_CARGO.iter().any(|prefix| name.starts_with(prefix)));
            if is_set_by_cargo {
                cargo.env_remove(name);
            }
        }
        cargo
    }

    /// Builds an example and returns its path.
    pub(crate) fn build_example(
        &self,
        package: &str,
        example: &str,
        features: Features,
        profile: Profile,
    ) -> Result<PathBuf> {
        self.require_member(package)?;
        let mut build = self.cargo();
        build.args(["build", "--profile", profile.name(), "-p", package, "--example", example]);
        if let Features::Only(features) = features {
            build.args(["--no-default-features", "--features", features]);
        }
        process::run(&mut build)?;
        Ok(self.target.join(profile.name()).join("examples").join(example))
    }

    /// Builds the program of a crate and returns its path.
    pub(crate) fn build_program(&self, package: &str, program: &str, profile: Profile) -> Result<PathBuf> {
        self.require_member(package)?;
        let build = ["build", "--profile", profile.name(), "-p", package, "--bin", program];
        process::run(self.cargo().args(build))?;
        Ok(self.target.join(profile.name()).join(program))
    }

    /// Builds the kernel to be tried, and returns its path.
    pub(crate) fn build_mgp(&self) -> Result<PathBuf> {
        if let Some(folder) = &self.programs {
            return Ok(path::absolute(folder.join("mgp"))?);
        }
        let profile = Profile::Release.name();
        let build = ["build", "--profile", profile, "-p", "mgp-kernel", "--bin", "mgp", WITH_ALL_PARTS];
        process::run(self.cargo().args(build))?;
        Ok(self.target.join(profile).join("mgp"))
    }

    /// Returns `given`, or builds an example to be tried and returns its path.
    pub(crate) fn example_or(&self, given: Option<&Path>, package: &str, example: &str) -> Result<PathBuf> {
        let built = self.programs.as_ref().map(|folder| folder.join("examples").join(example));
        match given.map(Path::to_owned).or(built) {
            Some(program) => Ok(path::absolute(program)?),
            None => self.build_example(package, example, Features::Default, Profile::Release),
        }
    }

    /// Every file that belongs to the project, relative to the root, in a stable order.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        walk(&self.root, &self.target, &mut found)?;
        let mut files: Vec<_> =
            found.iter().filter_map(|f| f.strip_prefix(&self.root).ok()).map(Path::to_path_buf).collect();
        files.sort();
        Ok(files)
    }
}

impl Package {
    /// The folder that holds the manifest.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().expect("a manifest lies in a folder")
    }

    /// Returns whether other crates can depend on it.
    pub(crate) fn has_library(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "lib"))
    }
}

/// Skips what no one wrote: version control and whatever a tool marked as a cache.
fn walk(folder: &Path, target: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let skipped = entry.file_name() == ".git" || path == target || path.join("CACHEDIR.TAG").exists();
        if skipped {
            continue;
        }
        if entry.file_type()?.is_dir() {
            walk(&path, target, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}
