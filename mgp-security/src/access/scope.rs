//! The kind of access that each request needs.

use mgp_types::{MethodRule, Request, RequestConcern};

/// The access that a request needs to be let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessNeed {
    /// The request needs no access.
    Nothing,
    /// The request needs no access, but its answer is cut down to the tools that may be used.
    ListedTools,
    /// The request needs access to the tool that it calls.
    Tool,
    /// The request needs access to anything on the server, even a single tool.
    Something,
    /// The request needs access to the server as a whole.
    Server,
}

impl AccessNeed {
    /// Returns the access that `request` needs. An unknown request needs the most.
    pub(super) fn of(request: &Request) -> Self {
        match MethodRule::of(request).map(|rule| rule.concern) {
            Some(RequestConcern::Session) => Self::Nothing,
            Some(RequestConcern::ToolList) => Self::ListedTools,
            Some(RequestConcern::Tool) => Self::Tool,
            Some(RequestConcern::Running | RequestConcern::Logging) => Self::Something,
            _ => Self::Server,
        }
    }
}
