//! The interfaces through which a registry reaches running servers and the inspection of code.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use mgp_types::mgp::{
    CodeRejection, Extension, ExtensionSet, ListedServer, Permission, ServerFilter, ServerId, ServerStatus,
};
use mgp_types::{Context, Error};

use super::{InspectedCode, ServerRegistration};

/// The servers that run. The kernel implements this trait.
#[async_trait]
pub trait RunningServers: Send + Sync + fmt::Debug + 'static {
    /// Returns the servers that the sender of the request may know of.
    fn servers(&self, context: &Context) -> Vec<ServerView>;

    /// Adds a server and begins to start it; returns when the server is added, not when it is connected.
    ///
    /// Starting a server that exists already changes nothing.
    async fn start(&self, server: Arc<ServerRegistration>) -> Result<(), Error>;

    /// Stops a server and forgets it. An unknown server is no error.
    async fn stop(&self, server: &ServerId) -> Result<(), Error>;

    /// Checks whether the system can confine programs here.
    ///
    /// # Errors
    /// The reason why the system cannot, in words.
    fn confines(&self) -> Result<(), String>;
}

/// A server, as it is listed, and what only the filter of the list asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made by the kernel")]
pub struct ServerView {
    /// The server, with the tools that the caller may know of.
    pub listed: ListedServer,
    /// The permissions that the server needs.
    pub permissions: Vec<Permission>,
}

/// The inspection of the code of sandboxed servers. The kernel implements this trait with the code safety framework at
/// its strictest level.
#[async_trait]
pub trait CodeInspector: Send + Sync + fmt::Debug + 'static {
    /// Reads the script and every file of its own that it loads, and returns the findings.
    async fn inspect(&self, script: ProgramScript<'_>) -> Inspection;

    /// Checks whether a program may be started with these arguments, as far as they show its actions.
    ///
    /// # Errors
    /// The reason why it may not, in words.
    fn judge_line(&self, command: &str, args: &[String]) -> Result<(), String>;
}

/// A script that a program is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramScript<'a> {
    /// The path of the script; a relative path begins where the program would be started.
    pub path: &'a Path,
    /// The language, by the program that runs it.
    pub language: &'a str,
    /// The index of the argument that names the script.
    pub argument: usize,
}

/// The result of an inspection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inspection {
    /// The code does nothing that a sandboxed server may not do.
    Harmless(Box<InspectedCode>),
    /// The code does something that is not allowed.
    Rejected(Box<CodeRejection>),
    /// The code could not be read, or its language is unknown.
    Unreadable(String),
}

impl ServerView {
    /// Creates the view of a server that waits for its approval.
    pub(super) fn pending(server: &ServerRegistration) -> Self {
        let mut listed = ListedServer::new(server.id.clone(), ServerStatus::PendingApproval, server.trust);
        listed.extensions.clone_from(&server.extensions);
        Self { listed, permissions: server.permissions.clone() }
    }

    /// Returns whether the server passes the filter.
    pub(super) fn passes(&self, filter: &ServerFilter) -> bool {
        if filter.status.is_some_and(|status| status != self.listed.status) {
            return false;
        }
        if !filter.permissions.iter().all(|permission| self.permissions.contains(permission)) {
            return false;
        }
        // Later drafts have other names for some of the extensions.
        let has = ExtensionSet::from_names(&self.listed.extensions);
        filter.extensions.iter().all(|name| has.contains(&Extension::from(name.as_str())))
    }
}
