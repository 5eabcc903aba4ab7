//! The flow of data through the session of a client: from the calls that take it in to those that may carry it out.

use std::sync::Arc;

/// The kind of data that a call takes into its session, where that is worth a question later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "data is somebody's secret, or somebody else's words")]
pub enum CallSource {
    /// Private data, such as mail, secrets, and files outside the folders of the client.
    Private,
    /// The words of others, such as web pages and issues, which may hold orders to models.
    Foreign,
}

impl CallSource {
    /// Returns the words that say to a person what the call took in.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Private => "private data",
            Self::Foreign => "text of others",
        }
    }
}

/// A call that took something into its session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a source is a call and what it took in")]
pub struct FlowSource {
    /// The kind of data that the call took in.
    pub kind: CallSource,
    /// The tool, as `server.tool`.
    pub tool: String,
    /// The arguments of the call, in a form for people.
    pub arguments: String,
}

/// The flow that a call would complete: its session took something in, and the call may carry it out or act on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a flow has its beginning, and is new or not")]
pub struct CallFlow {
    /// The calls by which the session took something in.
    pub sources: Arc<[FlowSource]>,
    /// True if no such call was made since the session took in the first of it.
    pub is_new: bool,
}

crate::write_as!(Display of FlowSource, self => "{} by {}", self.kind.phrase(), self.tool);

impl CallFlow {
    /// Returns the sources with the arguments of their calls, in words for people.
    pub fn in_words(&self) -> String {
        let each = self.sources.iter().map(|source| format!("{source} with {}", source.arguments));
        each.collect::<Vec<_>>().join("; ")
    }
}
