use mgp_types::Method;

/// What a request needs to be let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing: it keeps a session alive or takes something back, and reaches no tool.
    Nothing,
    /// Nothing, but the answer holds only what may be used.
    ListedTools,
    /// The tool that is called.
    Tool,
    /// Something on the server, be it one tool: it is about what a call of a tool began, or about changes.
    Something,
    /// The server as a whole.
    Server,
}

impl Need {
    /// What `method` needs. One that is not known needs the most.
    pub(super) fn of(method: &Method) -> Self {
        match method.as_str() {
            "tools/call" => Self::Tool,
            "tools/list" => Self::ListedTools,
            "initialize"
            | "ping"
            | "server/discover"
            | "logging/setLevel"
            | "notifications/initialized"
            | "notifications/cancelled"
            | "notifications/progress"
            | "notifications/roots/list_changed" => Self::Nothing,
            "tasks/get"
            | "tasks/result"
            | "tasks/list"
            | "tasks/update"
            | "tasks/cancel"
            | "subscriptions/listen"
            | "mgp/stream/cancel"
            | "mgp/callback/respond" => Self::Something,
            _ => Self::Server,
        }
    }
}
