//! The registries of packages: what has a name there, asked by their own programs.

mod third_party;

use std::{
    env, fmt,
    process::{Command, Output, Stdio},
};

use anyhow::{Result, bail};
use serde::Deserialize;

pub(crate) use self::third_party::third_party;

/// A registry of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registry {
    Npm,
    PyPi,
    CratesIo,
    /// The packages of the Debian that runs here.
    Debian,
    /// Images of containers, which are not asked for: that would take a program to pull them.
    Images,
}

/// What has a name in a registry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Nobody,
    /// A package, with its description.
    Package(String),
}

/// A registry gave no answer.
#[derive(Debug)]
pub(crate) struct Unreachable(String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

impl Unreachable {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Npm => "npm",
            Self::PyPi => "PyPI",
            Self::CratesIo => "crates.io",
            Self::Debian => "Debian",
            Self::Images => "images",
        })
    }
}

impl Registry {
    /// Asks what has a name.
    ///
    /// # Errors
    /// Fails if the registry, or the program that asks it, gives no answer.
    pub(crate) fn holder(self, name: &str) -> Result<Holder> {
        match self {
            Self::Npm => Answer::of("npm", &["view", "--json", name, "name", "description"])?.of_npm(),
            Self::PyPi => {
                let found = pip(&["-vvv", "index", "versions", name])?.of_pip()?;
                // Only wheels are looked into: others would have to be run.
                let only = ["--ignore-installed", "--no-deps", "--only-binary", ":all:"];
                let report =
                    [&["install", "--quiet", "--dry-run", "--report", "-"], &only[..], &[name]].concat();
                Ok(match found {
                    Holder::Package(known) => {
                        Holder::Package(pip(&report)?.summary_of_pip().unwrap_or(known))
                    }
                    Holder::Nobody => Holder::Nobody,
                })
            }
            Self::CratesIo => Answer::of("cargo", &["info", "--quiet", name])?.of_cargo(),
            Self::Debian => {
                let sources = Answer::of("apt-cache", &["policy"])?;
                if !sources.out.contains(" Packages\n") {
                    bail!(Unreachable::new("no list of packages is here; `apt-get update` fetches them"));
                }
                Ok(Answer::of("apt-cache", &["show", "--no-all-versions", name])?.of_apt())
            }
            Self::Images => bail!(Unreachable::new("images are not asked for")),
        }
    }
}

fn pip(arguments: &[&str]) -> Result<Answer> {
    let quiet = ["-m", "pip", "--no-input", "--disable-pip-version-check"];
    Answer::of("python3", &[&quiet, arguments].concat())
}

/// What a program that asks a registry printed.
struct Answer {
    is_success: bool,
    out: String,
    errors: String,
}

impl Answer {
    fn of(program: &str, arguments: &[&str]) -> Result<Self> {
        // Cargo would answer with the crates of a workspace that it is in.
        let mut command = Command::new(program);
        command.args(arguments).current_dir(env::temp_dir()).env("LC_ALL", "C").stdin(Stdio::null());
        let Ok(Output { status, stdout, stderr }) = command.output() else {
            bail!(Unreachable::new(format!("`{program}` is not installed")));
        };
        let [out, errors] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Self { is_success: status.success(), out, errors })
    }

    fn of_npm(&self) -> Result<Holder> {
        let NpmAnswer { description, error } = serde_json::from_str(&self.out).unwrap_or_default();
        match error {
            Some(NpmError { code, .. }) if code == "E404" => Ok(Holder::Nobody),
            Some(NpmError { summary, .. }) => bail!(Unreachable::new(summary)),
            None if self.is_success => Ok(Holder::Package(description)),
            None => bail!(self.silence()),
        }
    }

    fn of_pip(&self) -> Result<Holder> {
        if self.is_success {
            return Ok(Holder::Package(self.out.lines().next().unwrap_or_default().to_owned()));
        }
        // Asked to tell much, pip tells how the registry answered.
        let told = [&*self.out, &*self.errors].concat();
        if told.contains("404 Client Error") {
            Ok(Holder::Nobody)
        } else if told.contains("Could not fetch") || !told.contains("No matching distribution") {
            bail!(self.silence())
        } else {
            Ok(Holder::Package("a project without a release for this Python".to_owned()))
        }
    }

    fn summary_of_pip(&self) -> Option<String> {
        let report: PipReport = serde_json::from_str(&self.out).ok()?;
        report.install.into_iter().next()?.metadata.summary
    }

    fn of_cargo(&self) -> Result<Holder> {
        if self.is_success {
            // The first line has the name and the keywords.
            return Ok(Holder::Package(self.out.lines().nth(1).unwrap_or_default().to_owned()));
        }
        if self.errors.contains("could not find") {
            return Ok(Holder::Nobody);
        }
        bail!(self.silence())
    }

    fn of_apt(&self) -> Holder {
        let description = self.out.lines().find_map(|line| line.strip_prefix("Description"));
        match description.and_then(|line| line.split_once(": ")) {
            Some((_, text)) => Holder::Package(text.to_owned()),
            None => Holder::Nobody,
        }
    }

    /// Returns the last line of what was said, as the reason why there is no answer.
    fn silence(&self) -> Unreachable {
        let last = self.errors.lines().rfind(|line| !line.trim().is_empty());
        Unreachable::new(last.unwrap_or("no answer").trim())
    }
}

#[derive(Default, Deserialize)]
struct NpmAnswer {
    #[serde(default)]
    description: String,
    error: Option<NpmError>,
}

#[derive(Deserialize)]
struct NpmError {
    code: String,
    #[serde(default)]
    summary: String,
}

#[derive(Deserialize)]
struct PipReport {
    install: Vec<PipPackage>,
}

#[derive(Deserialize)]
struct PipPackage {
    metadata: PipMetadata,
}

#[derive(Deserialize)]
struct PipMetadata {
    summary: Option<String>,
}

#[cfg(test)]
mod tests;
