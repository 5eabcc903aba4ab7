//! Tools, as the index keeps them.

mod proposal_rank;

use mgp_types::mgp::{Permission, RiskLevel, ServerId, ToolName};
use mgp_types::{Object, RawJson};

pub(crate) use self::proposal_rank::{ProposalRank, ToolEffect};
use crate::category::CategoryPath;
use crate::text::WordSketch;

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
