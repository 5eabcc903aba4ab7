//! Tools and servers, as the index is given them and as it keeps them.

mod listing;
mod proposal_rank;
mod text;

use std::sync::Arc;

use mgp_types::mgp::{Permission, RiskLevel, ServerId, ServerState, ToolName};
use mgp_types::{Object, RawJson};

pub use self::listing::{ToolListing, ToolListingError};
pub(crate) use self::proposal_rank::{ProposalRank, ToolEffect};
#[cfg(test)]
pub(crate) use self::text::ToolParameter;
pub(crate) use self::text::ToolText;
use crate::category::CategoryPath;
use crate::text::WordSketch;

/// A server with its tools.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerTools {
    /// The server.
    pub server: Server,
    /// The tools of the server. Of two tools of one name the first counts.
    pub tools: Vec<ToolListing>,
}

impl ServerTools {
    /// Creates a connected server with these tools.
    pub fn new(id: impl Into<ServerId>, tools: Vec<ToolListing>) -> Self {
        Self { server: Server::new(id), tools }
    }

    /// Sets the purpose of the server.
    pub fn description(mut self, description: impl Into<Arc<str>>) -> Self {
        self.server.description = description.into();
        self
    }

    /// Uses the vectors that the server sends with its tools, if they name the embedder in use. A server that lies can make
    /// its tools near to any query, which cannot be seen from the vectors; so this is for trusted servers.
    pub fn trust_vectors(mut self) -> Self {
        self.server.has_trusted_vectors = true;
        self
    }
}

/// The facts about a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// The id of the server.
    pub id: ServerId,
    /// The purpose of the server; may be empty.
    pub description: Arc<str>,
    /// The state of the server.
    pub state: ServerState,
    /// Set if the vectors that the server sends are used.
    pub(crate) has_trusted_vectors: bool,
}

impl Server {
    /// Creates a connected server.
    pub fn new(id: impl Into<ServerId>) -> Self {
        Self {
            id: id.into(),
            description: "".into(),
            state: ServerState::Connected,
            has_trusted_vectors: false,
        }
    }
}

/// A tool in the index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// The server of the tool.
    pub server: ServerId,
    /// The name of the tool at its server.
    pub name: ToolName,
    /// The whole definition, as the server gave it.
    pub definition: RawJson,
    /// The categories of the tool: those that its server declares, else those that its words suggest, and always its
    /// server.
    pub categories: Box<[CategoryPath]>,
    /// The risk of a call.
    pub risk: RiskLevel,
    /// The permissions that a call needs.
    pub permissions: Box<[Permission]>,
    /// Set if models always call the tool by its server and name.
    pub(crate) is_qualified: bool,
    /// The deprecation and the kind of action of the tool.
    pub(crate) standing: ProposalRank,
    /// The words of the tool, to be compared with those of others.
    pub(crate) gist: WordSketch,
}

impl Tool {
    /// Returns whether both are the same tool of the same server, maybe with other definitions.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.server == other.server && self.name == other.name
    }

    /// Returns the unique name of the tool: server and name (§16.4).
    pub fn id(&self) -> String {
        format!("{}.{}", self.server, self.name)
    }

    /// Returns the members of the definition.
    pub fn members(&self) -> Object {
        Object::from_raw(&self.definition).unwrap_or_default()
    }

    /// Returns the description, in the words of the server.
    pub fn description(&self) -> String {
        self.members().text("description").map(Into::into).unwrap_or_default()
    }
}
