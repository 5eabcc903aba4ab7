//! Servers and their tools, as the index is given them.

mod listing;
mod text;

use std::sync::Arc;

use mgp_types::mgp::{ServerId, ServerState};

pub use self::listing::{ToolListing, ToolListingError};
#[cfg(test)]
pub(crate) use self::text::ToolParameter;
pub(crate) use self::text::ToolText;

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

    mgp_types::setters! { self =>
        /// Sets the purpose of the server.
        pub fn description(description: impl Into<Arc<str>>) => self.server.description = description.into();

        /// Uses the vectors that the server sends with its tools, if they name the embedder in use. A server that lies
        /// can make its tools near to any query, which cannot be seen from the vectors; so this is for trusted servers.
        pub fn trust_vectors() => self.server.has_trusted_vectors = true;
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
