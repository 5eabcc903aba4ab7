use std::fmt;
use std::path::Path;
use std::sync::Arc;

use mgp_types::mgp::{CodeRejection, MgpVersion, Permission, ServerId, ServerStatus, TrustLevel};
use mgp_types::{BoxFuture, Context, Error};

use super::{InspectedCode, Registered};

/// The servers that run. Whoever runs them implements it.
pub trait Fleet: Send + Sync + fmt::Debug + 'static {
    /// The servers that whoever sent the request may know of.
    fn servers(&self, context: &Context) -> Vec<ServerView>;

    /// Takes a server in and begins to start it; done when it has been taken in, not when it is connected.
    ///
    /// Starting one that is there already changes nothing.
    fn start(&self, server: Arc<Registered>) -> BoxFuture<'_, Result<(), Error>>;

    /// Stops a server and forgets it. It is no error if there is none.
    fn stop<'a>(&'a self, server: &'a ServerId) -> BoxFuture<'a, Result<(), Error>>;

    /// Whether the system can confine what is started here.
    ///
    /// # Errors
    /// It cannot, in words.
    fn confines(&self) -> Result<(), String>;
}

/// A server that runs, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerView {
    /// Which server.
    pub id: ServerId,
    /// How it does.
    pub status: ServerStatus,
    /// The version of MGP that it speaks; `None` for a server of plain MCP.
    pub mgp_version: Option<MgpVersion>,
    /// The extensions that it has, or is said to have before it is connected.
    pub extensions: Vec<String>,
    /// Its tools, by its own names, that whoever asks may know of.
    pub tools: Vec<String>,
    /// How far it is trusted.
    pub trust: TrustLevel,
    /// What it needs to be permitted.
    pub permissions: Vec<Permission>,
}

impl ServerView {
    /// A server of which nothing more is known.
    pub const fn new(id: ServerId, status: ServerStatus, trust: TrustLevel) -> Self {
        Self {
            id,
            status,
            mgp_version: None,
            extensions: Vec::new(),
            tools: Vec::new(),
            trust,
            permissions: Vec::new(),
        }
    }
}

/// Looks at the code of sandboxed servers. Whoever has the code safety framework implements it, at its strictest level.
pub trait InspectCode: Send + Sync + fmt::Debug + 'static {
    /// Reads the script and every file of its own that it loads, and says what is in them.
    fn inspect<'a>(&'a self, script: Script<'a>) -> BoxFuture<'a, Inspection>;

    /// Whether a program may be started with these arguments, as far as they tell what it does.
    ///
    /// # Errors
    /// It may not, in words.
    fn judge_line(&self, command: &str, args: &[String]) -> Result<(), String>;
}

/// A script that a program is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Script<'a> {
    /// Where it lies; a relative path begins where the program would be started.
    pub path: &'a Path,
    /// The language, by the program that runs it.
    pub language: &'a str,
}

/// What an inspection found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inspection {
    /// Nothing that a sandboxed server may not do.
    Harmless(Box<InspectedCode>),
    /// Something that it may not do.
    Rejected(Box<CodeRejection>),
    /// It could not be read, or no one can read its language.
    Unreadable(String),
}
