use mgp_types::{MethodRule, Request, RequestConcern};

/// What a request needs to be let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessNeed {
    /// Nothing.
    Nothing,
    /// Nothing, but the answer holds only what may be used.
    ListedTools,
    /// The tool that is called.
    Tool,
    /// Something on the server, be it one tool.
    Something,
    /// The server as a whole.
    Server,
}

impl AccessNeed {
    /// What `request` needs. One that is not known needs the most.
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
