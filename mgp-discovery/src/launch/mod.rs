//! Start commands for packages of a registry.
//!
//! A registry describes a server in a `server.json`: the packages of the server and the addresses where it runs
//! already. [`ServerJson::parse`] reads both generations of the format, [`needed`] says what a person has to fill in,
//! and [`launch`] makes a server of `mgp.toml` from it, with the exact command for the person to see.
//!
//! A `server.json` was written by a stranger. So the document chooses among a few programs only, cannot refer to the
//! environment of the kernel, and each demand beyond its package is listed as a [`PackagePermission`].

use std::collections::BTreeMap;

use mgp_types::{is_hidden, shell_word};

use self::document::{Input, Remote};
use self::fill::Filler;
use crate::clients::variable;
use crate::config::model::{ServerConfig, TransportKind};

mod command;
mod document;
mod error;
mod fill;
mod permission;

pub use self::{
    document::ServerJson,
    error::LaunchError,
    permission::{PackagePermission, PackagePermissionKind},
};

/// A way to use a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LaunchChoice {
    /// The package of that index is started.
    Package(usize),
    /// The remote of that index is connected to.
    Remote(usize),
}

/// A value that a person has to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequiredInput {
    /// The name of the value in the answers.
    pub name: String,
    /// The description of the value.
    pub description: Option<String>,
    /// The variable that holds the value, if it is a secret. Secrets are set there, and answered at most by another
    /// reference.
    pub secret: Option<String>,
    /// The default of the value.
    pub default: Option<String>,
    /// The values that may be answered; empty for any.
    pub choices: Vec<String>,
    /// Set if the server does not start without the value.
    pub required: bool,
    /// Set if there may be several answers.
    pub repeated: bool,
}

/// The answers of a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct LaunchAnswers(BTreeMap<String, Vec<String>>);

impl LaunchAnswers {
    /// Creates an empty set of answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer, or another one for a value that may be repeated.
    pub fn with(mut self, name: impl Into<String>, answer: impl Into<String>) -> Self {
        self.0.entry(name.into()).or_default().push(answer.into());
        self
    }
}

/// A server that is ready to be put into `mgp.toml`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PreparedLaunch {
    /// The server.
    pub config: ServerConfig,
    /// The command or address, complete and literal. Characters that cannot be seen are written as escapes.
    pub shown: String,
    /// The demands of the server beyond its package.
    pub permissions: Vec<PackagePermission>,
    /// The variables that have to be set before the server starts.
    pub variables: Vec<String>,
    /// Further notes for the person.
    pub notes: Vec<String>,
}

/// Returns the ways to use a server; those that need no installation come last.
pub fn choices(server: &ServerJson) -> Vec<LaunchChoice> {
    let packages = (0..server.packages.len()).map(LaunchChoice::Package);
    packages.chain((0..server.remotes.len()).map(LaunchChoice::Remote)).collect()
}

/// Returns the values that a person has to fill in, in the order of the document.
pub fn needed(server: &ServerJson, choice: LaunchChoice) -> Result<Vec<RequiredInput>, LaunchError> {
    let answers = LaunchAnswers::new();
    let mut filler = Filler::new(&server.id(), &answers);
    // Missing answers are exactly what this function collects.
    assemble(server, choice, &mut filler)?;
    Ok(filler.into_needed())
}

/// Makes a server of `mgp.toml` from one way to use it and the answers of a person.
pub fn launch(
    server: &ServerJson,
    choice: LaunchChoice,
    answers: &LaunchAnswers,
) -> Result<PreparedLaunch, LaunchError> {
    let mut filler = Filler::new(&server.id(), answers);
    let mut launch = assemble(server, choice, &mut filler)?;
    launch.variables = filler.finish()?;
    Ok(launch)
}

fn assemble(
    server: &ServerJson,
    choice: LaunchChoice,
    filler: &mut Filler<'_>,
) -> Result<PreparedLaunch, LaunchError> {
    let mut launch = match choice {
        LaunchChoice::Package(index) => {
            let package = server.packages.get(index).ok_or(LaunchError::NoSuchChoice { choice })?;
            command::launch(package, filler)?
        }
        LaunchChoice::Remote(index) => {
            let remote = server.remotes.get(index).ok_or(LaunchError::NoSuchChoice { choice })?;
            launch_remote(remote, filler)?
        }
    };
    launch.config.id = server.id();
    launch.config.enabled = true;
    launch.config.description = server.description.clone().filter(|text| !text.is_empty());
    Ok(launch)
}

impl ServerJson {
    /// Returns the id of the server in `mgp.toml`: the last part of its name.
    pub(crate) fn id(&self) -> String {
        variable::server_id(self.name.rsplit('/').next().unwrap_or_default())
    }
}

const MAX_HEADERS: usize = 64;

fn launch_remote(remote: &Remote, filler: &mut Filler<'_>) -> Result<PreparedLaunch, LaunchError> {
    let transport = match remote.kind.as_str() {
        "streamable-http" | "streamable_http" | "streamable" | "http" => TransportKind::Http,
        "sse" => TransportKind::Sse,
        other => {
            return Err(LaunchError::Malformed { what: "transport of a remote", text: visible(other) });
        }
    };
    if remote.headers.len() > MAX_HEADERS {
        return Err(LaunchError::TooLarge { what: "headers", limit: MAX_HEADERS });
    }
    let url = filler.template("the url", &remote.url, &remote.variables)?;
    // Without all answers, the address is not known yet.
    if !filler.is_missing() && !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(LaunchError::Malformed { what: "http address", text: visible(&url) });
    }
    let mut notes = Vec::new();
    if url.starts_with("http://") {
        notes.push(
            "the connection is not encrypted: others on the way can read and change all messages".to_owned(),
        );
    }
    let mut config = ServerConfig { url: Some(url), transport: Some(transport), ..ServerConfig::default() };
    for header in &remote.headers {
        let fit = !header.name.is_empty()
            && header
                .name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
        if !fit {
            return Err(LaunchError::Malformed { what: "name of a header", text: visible(&header.name) });
        }
        if let Some(value) = filler.one(&header.name, &header.input)? {
            config.headers.insert(header.name.clone(), value);
        }
    }
    let shown = visible(config.url.as_deref().unwrap_or_default());
    Ok(PreparedLaunch { config, shown, permissions: Vec::new(), variables: Vec::new(), notes })
}

/// Returns the text with characters as escapes that are invisible or make other text look different.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Returns the command of a server in the form in which a person would type it.
pub fn command_line(config: &ServerConfig) -> String {
    let words = config.command.iter().chain(&config.args).map(|word| shell_word(word));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
