//! What the index is told of tools, and what it keeps of them.

mod listing;
mod parameters;
mod standing;
mod text;

use std::sync::Arc;

use mgp_types::mgp::{Permission, RiskLevel, ServerId, ServerState, ToolName};
use mgp_types::{Object, RawJson};

pub use self::listing::{Listing, ListingError};
pub(crate) use self::parameters::Parameter;
pub(crate) use self::standing::{Manner, Standing};
pub(crate) use self::text::ToolText;
use crate::category::CategoryPath;
use crate::text::Gist;

/// A server, and what it lists.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerTools {
    /// Which server it is.
    pub server: Server,
    /// What it lists. Of two tools of one name the first counts.
    pub tools: Vec<Listing>,
}

impl ServerTools {
    /// A server that takes calls, and its tools.
    pub fn new(id: impl Into<ServerId>, tools: Vec<Listing>) -> Self {
        Self { server: Server::new(id), tools }
    }

    /// Says what the server is for.
    pub fn description(mut self, description: impl Into<Arc<str>>) -> Self {
        self.server.description = description.into();
        self
    }
}

/// What is known of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// Its id.
    pub id: ServerId,
    /// What it is for; may be empty.
    pub description: Arc<str>,
    /// Where it is in its life.
    pub state: ServerState,
}

impl Server {
    /// A server that takes calls.
    pub fn new(id: impl Into<ServerId>) -> Self {
        Self { id: id.into(), description: "".into(), state: ServerState::Connected }
    }
}

/// A tool in the index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// Whose tool it is.
    pub server: ServerId,
    /// What the server calls it.
    pub name: ToolName,
    /// The whole definition, as the server gave it.
    pub definition: RawJson,
    /// Where it belongs: in what its server declares, else in what its words say, and always in its server.
    pub categories: Box<[CategoryPath]>,
    /// What can come of a call.
    pub risk: RiskLevel,
    /// What has to be granted for a call.
    pub permissions: Box<[Permission]>,
    /// Whether models always call it by its server and name.
    pub(crate) is_qualified: bool,
    /// Whether it is to be used at all, and what it does.
    pub(crate) standing: Standing,
    /// What it says, to be compared with what others say.
    pub(crate) gist: Gist,
}

impl Tool {
    /// The name that no other tool has: server and name (§16.4).
    pub fn id(&self) -> String {
        format!("{}.{}", self.server, self.name)
    }

    /// The definition by its members.
    pub fn members(&self) -> Object {
        Object::from_raw(&self.definition).unwrap_or_default()
    }

    /// What it does, in the words of its server.
    pub fn description(&self) -> String {
        self.members().text("description").map(Into::into).unwrap_or_default()
    }
}
