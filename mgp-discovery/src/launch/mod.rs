//! How packages are started.
//!
//! A registry says of a server what packages there are of it and where it runs already, in a `server.json`.
//! [`ServerJson::parse`] reads it in both generations that are about, [`needed`] says what a person has to fill in, and
//! [`launch`] makes a server of `mgp.toml` out of it, with the exact command for the person to see.
//!
//! A `server.json` was written by a stranger. So it chooses among a few programs only, it cannot refer to the environment
//! of the kernel, and what it asks for beyond its package is listed as a [`PermissionRequest`].

mod command;
mod document;
mod error;
mod fill;
mod permission;
mod remote;
mod show;

use std::collections::BTreeMap;

pub use self::show::command_line;
use self::{document::Input, fill::Filler};
pub use self::{
    document::ServerJson,
    error::LaunchError,
    permission::{PermissionKind, PermissionRequest},
};
use crate::{clients::variable, config::model::ServerConfig};

/// One of the ways in which a server can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Choice {
    /// The package of that number is started.
    Package(usize),
    /// The server is reached where it runs already.
    Remote(usize),
}

/// What a person has to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needed {
    /// What it is called in the answers.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// The variable that holds it, if it is a secret. Secrets are set there, and answered at most by another reference.
    pub secret: Option<String>,
    /// What is taken if nothing is answered.
    pub default: Option<String>,
    /// What may be answered; anything if empty.
    pub choices: Vec<String>,
    /// Whether the server does not start without it.
    pub required: bool,
    /// Whether there may be several answers.
    pub repeated: bool,
}

/// What a person filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Answers(BTreeMap<String, Vec<String>>);

impl Answers {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers, once more if what is asked may be repeated.
    pub fn with(mut self, name: impl Into<String>, answer: impl Into<String>) -> Self {
        self.0.entry(name.into()).or_default().push(answer.into());
        self
    }
}

/// A server that is ready to be put into `mgp.toml`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Launch {
    /// The server.
    pub config: ServerConfig,
    /// What is started, or reached, word for word and whole. Characters that cannot be seen are written as escapes.
    pub shown: String,
    /// What it asks for beyond its package.
    pub permissions: Vec<PermissionRequest>,
    /// Variables that have to be set before it starts.
    pub variables: Vec<String>,
    /// What else a person should know.
    pub notes: Vec<String>,
}

/// The ways in which a server can be had, those that need nothing installed last.
pub fn choices(server: &ServerJson) -> Vec<Choice> {
    let packages = (0..server.packages.len()).map(Choice::Package);
    packages.chain((0..server.remotes.len()).map(Choice::Remote)).collect()
}

/// What a person has to fill in, in the order of the document.
pub fn needed(server: &ServerJson, choice: Choice) -> Result<Vec<Needed>, LaunchError> {
    let answers = Answers::new();
    let mut filler = Filler::new(&server.id(), &answers);
    // What is missing is just what is looked for.
    assemble(server, choice, &mut filler)?;
    Ok(filler.into_needed())
}

/// Makes a server of `mgp.toml` out of one way to have it, and what a person answered.
pub fn launch(server: &ServerJson, choice: Choice, answers: &Answers) -> Result<Launch, LaunchError> {
    let mut filler = Filler::new(&server.id(), answers);
    let mut launch = assemble(server, choice, &mut filler)?;
    launch.variables = filler.finish()?;
    Ok(launch)
}

fn assemble(server: &ServerJson, choice: Choice, filler: &mut Filler<'_>) -> Result<Launch, LaunchError> {
    let mut launch = match choice {
        Choice::Package(index) => {
            let package = server.packages.get(index).ok_or(LaunchError::NoSuchChoice { choice })?;
            command::launch(package, filler)?
        }
        Choice::Remote(index) => {
            let remote = server.remotes.get(index).ok_or(LaunchError::NoSuchChoice { choice })?;
            remote::launch(remote, filler)?
        }
    };
    launch.config.id = server.id();
    launch.config.enabled = true;
    launch.config.description = server.description.clone().filter(|text| !text.is_empty());
    Ok(launch)
}

impl ServerJson {
    /// What the server is called in `mgp.toml`: the last part of its name.
    pub(crate) fn id(&self) -> String {
        variable::server_id(self.name.rsplit('/').next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
