//! Start commands for packages of a registry.
//!
//! A registry describes a server in a `server.json`: the packages of the server and the addresses where it runs
//! already. [`ServerJson::parse`] reads both generations of the format, and [`launch`] makes a server of `mgp.toml` from it, with the exact command for the person to see.
//!
//! A `server.json` was written by a stranger. So the document chooses among a few programs only, cannot refer to the
//! environment of the kernel, and each demand beyond its package is listed as a [`PackagePermission`].

use std::path::Path;

use mgp_types::shell_word;
use serde::{Deserialize, Serialize};

use self::document::{Input, Package, Remote};
use self::fill::Filler;
use crate::config::is_passed_on;
use crate::config::model::{ServerConfig, TransportKind};
use crate::names;
use crate::registry::{loads_code, visible};

mod bundle;
mod command;
mod document;
mod fill;

pub use self::command::PackagePermission;
pub use self::document::ServerJson;

/// A value that a person has to fill in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequiredInput {
    /// The name of the value in the answers.
    pub name: String,
    /// The description of the value.
    pub description: Option<String>,
    /// The values that may be answered; empty for any.
    pub choices: Vec<String>,
}

/// The outcome of reading a document of a registry.
type LaunchResult<T> = Result<T, LaunchError>;

/// The reason why a server cannot be started as it is described.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The document is no `server.json`.
    #[error("line {line}, column {column}: {what}")]
    Document {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The error in the document.
        what: String,
    },
    /// The document has this number of packages and remotes, and no such one.
    #[error("there is no such way to use the server: the document has {0}")]
    NoSuchWay(usize),
    /// The document asks for something that is not done, in words.
    #[error("{0}")]
    Refused(String),
    /// These values have to be filled in.
    #[error("still needed: {}", .0.iter().map(|needed| needed.name.as_str()).collect::<Vec<_>>().join(", "))]
    Missing(Vec<RequiredInput>),
    /// An answer is not valid.
    #[error("`{name}`: {why}")]
    BadAnswer {
        /// The name of the value.
        name: String,
        /// The error, and what to answer instead.
        why: String,
    },
}

impl LaunchError {
    /// Returns the refusal of a text of the document with invalid characters, which are shown as escapes.
    fn malformed(what: &str, text: &str) -> Self {
        Self::Refused(format!("`{}` is no {what}", visible(text)))
    }

    fn too_large(what: &str, limit: usize) -> Self {
        Self::Refused(format!("the document has more than {limit} {what}"))
    }
}

/// A server that is ready to be put into `mgp.toml`.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct PreparedLaunch {
    /// The server.
    pub config: ServerConfig,
    /// The demands of the server beyond its package.
    pub permissions: Vec<PackagePermission>,
    /// The secrets of the user that have to be set before the server starts.
    pub secrets: Vec<String>,
    /// The image of a container that is named by a tag, which its publisher can move.
    pub image: Option<String>,
    /// The address of the server, or of the registry that has its image; `None` if neither is named.
    pub address: Option<String>,
    /// The index of the package, if it is not the public one.
    pub foreign_registry: Option<String>,
    /// Further notes for the person.
    pub notes: Vec<String>,
}

/// Makes a server of `mgp.toml` from one way to use it and the answers of a person, by the names of the values; a value
/// that may be repeated has several. The ways are numbered from 0: first the packages, then the remotes, which need no
/// installation. A package that is a bundle comes with its `manifest.json`, and the folder in which it is unpacked or will be.
pub fn launch(
    server: &ServerJson,
    way: usize,
    answers: &[(String, String)],
    bundle: Option<(&str, &Path)>,
) -> LaunchResult<PreparedLaunch> {
    let mut filler = Filler::new(&server.id(), answers);
    let remote = || server.remotes.get(way.checked_sub(server.packages.len())?);
    let mut launch = match (server.packages.get(way), bundle, remote()) {
        (Some(_), Some((manifest, folder)), _) => bundle::launch(manifest, folder, &mut filler)?,
        (Some(package), None, _) => command::launch(package, &mut filler)?,
        (None, _, Some(remote)) => launch_remote(remote, &mut filler)?,
        (None, _, None) => return Err(LaunchError::NoSuchWay(server.ways())),
    };
    launch.config.id = server.id();
    launch.config.enabled = true;
    launch.config.description = server.description.clone().filter(|text| !text.is_empty());
    launch.secrets = filler.finish()?;
    Ok(launch)
}

impl ServerJson {
    /// Returns the number of ways to use the server.
    pub const fn ways(&self) -> usize {
        self.packages.len() + self.remotes.len()
    }

    /// Returns the names of its packages in their registries.
    pub fn identifiers(&self) -> impl Iterator<Item = &str> {
        self.packages.iter().map(|package| package.identifier.as_str())
    }

    /// Returns the address of a bundle and its SHA-256 in hexadecimal digits, if this way to use the server is one.
    pub fn bundle(&self, way: usize) -> LaunchResult<Option<(&str, String)>> {
        let is_bundle = |package: &&Package| package.registry_type.eq_ignore_ascii_case("mcpb");
        self.packages.get(way).filter(is_bundle).map(bundle::source).transpose()
    }

    /// Returns the id of the server in `mgp.toml`: the last part of its name.
    pub fn id(&self) -> String {
        names::server_id(self.name.rsplit('/').next().unwrap_or_default())
    }
}

const MAX_HEADERS: usize = 64;

fn launch_remote(remote: &Remote, filler: &mut Filler<'_>) -> LaunchResult<PreparedLaunch> {
    let transport = match remote.kind.as_str() {
        "streamable-http" | "streamable_http" | "streamable" | "http" => TransportKind::Http,
        "sse" => TransportKind::Sse,
        other => return Err(LaunchError::malformed("transport of a remote", other)),
    };
    if remote.headers.len() > MAX_HEADERS {
        return Err(LaunchError::too_large("headers", MAX_HEADERS));
    }
    let (url, _) = filler.fill_in("the url", &remote.url, &remote.variables)?;
    // Without all answers, the address is not known yet.
    if filler.missing.is_empty() && !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(LaunchError::malformed("http address", &url));
    }
    let open = "the connection is not encrypted: others on the way can read and change all messages";
    let notes = url.starts_with("http://").then(|| open.to_owned()).into_iter().collect();
    let address = Some(url.clone());
    let mut config = ServerConfig { url: Some(url), transport: Some(transport), ..ServerConfig::default() };
    for header in &remote.headers {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if header.name.is_empty() || !header.name.bytes().all(is_fit) {
            return Err(LaunchError::malformed("name of a header", &header.name));
        }
        if let Some(value) = filler.one(&header.name, &header.input)? {
            config.headers.insert(header.name.clone(), value);
        }
    }
    Ok(PreparedLaunch { config, address, notes, ..PreparedLaunch::default() })
}

/// Returns whether loaders, runtimes or package managers read a variable, so that it decides which code runs.
fn steers_programs(variable: &str) -> bool {
    loads_code(variable) || is_passed_on(variable)
}

fn left_out(variable: &str) -> String {
    format!(
        "`{variable}` is left out, because it decides which code runs; add it to the entry if you want it"
    )
}

/// Returns the command of a server in the form in which a person would type it, or its address. Characters that cannot be
/// seen are written as escapes.
pub fn command_line(config: &ServerConfig) -> String {
    if let Some(url) = &config.url {
        return visible(url);
    }
    let words = config.command.iter().chain(&config.args).map(|word| shell_word(word));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
