use mgp_types::{Concern, MethodRule, Request};

/// What a request needs to be let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
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

impl Need {
    /// What `request` needs. One that is not known needs the most.
    pub(super) fn of(request: &Request) -> Self {
        match MethodRule::of(request).map(|rule| rule.concern) {
            Some(Concern::Session) => Self::Nothing,
            Some(Concern::ToolList) => Self::ListedTools,
            Some(Concern::Tool) => Self::Tool,
            Some(Concern::Running | Concern::Logging) => Self::Something,
            _ => Self::Server,
        }
    }
}
