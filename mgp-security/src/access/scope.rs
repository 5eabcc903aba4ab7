use mgp_types::Request;

use crate::concern::Concern;

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
        match Concern::of(request) {
            Concern::Session => Self::Nothing,
            Concern::ToolList => Self::ListedTools,
            Concern::Tool => Self::Tool,
            Concern::Running | Concern::Logging => Self::Something,
            Concern::Other => Self::Server,
        }
    }
}
