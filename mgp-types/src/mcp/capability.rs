//! What a client or a server says it can do.

use super::Map;
use super::body::{body, builders};
use crate::RawJson;

body! {
    /// A capability without members of its own: to be there is to be supported.
    pub struct Marker {}
}

body! {
    /// Roots: the client can be asked for its directories.
    pub struct RootsCapability {
        /// Whether the client tells when the list changes.
        optional list_changed: bool = "listChanged" [until V2025_11_25];
    }
}

body! {
    /// Sampling: the client can be asked to let its model answer.
    pub struct SamplingCapability {
        /// `includeContext` beyond `none` is supported.
        optional context: Marker = "context" [since V2025_11_25];
        /// `tools` and `toolChoice` are supported.
        optional tools: Marker = "tools" [since V2025_11_25];
    }
}

body! {
    /// Elicitation: the client can be asked to ask its user.
    pub struct ElicitationCapability {
        /// By a form; supported as well if neither member is there.
        optional form: Marker = "form" [since V2025_11_25];
        /// By a page that the user visits.
        optional url: Marker = "url" [since V2025_11_25];
    }
}

impl ElicitationCapability {
    /// Whether forms are supported: said so, or nothing said at all.
    pub const fn supports_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Whether visiting a page is supported.
    pub const fn supports_url(&self) -> bool {
        self.url.is_some()
    }
}

body! {
    /// Tasks of the revision 2025-11-25, as a client supports them.
    pub struct ClientTasksCapability {
        /// `tasks/list` is supported.
        optional list: Marker = "list";
        /// `tasks/cancel` is supported.
        optional cancel: Marker = "cancel";
        /// The requests that can run as a task.
        optional requests: ClientTaskRequests = "requests";
    }
}

body! {
    /// The requests to a client that can run as a task.
    pub struct ClientTaskRequests {
        /// Sampling requests.
        optional sampling: SamplingTaskRequests = "sampling";
        /// Elicitation requests.
        optional elicitation: ElicitationTaskRequests = "elicitation";
    }
}

body! {
    /// The sampling requests that can run as a task.
    pub struct SamplingTaskRequests {
        /// `sampling/createMessage`.
        optional create_message: Marker = "createMessage";
    }
}

body! {
    /// The elicitation requests that can run as a task.
    pub struct ElicitationTaskRequests {
        /// `elicitation/create`.
        optional create: Marker = "create";
    }
}

body! {
    /// Tasks of the revision 2025-11-25, as a server supports them.
    pub struct ServerTasksCapability {
        /// `tasks/list` is supported.
        optional list: Marker = "list";
        /// `tasks/cancel` is supported.
        optional cancel: Marker = "cancel";
        /// The requests that can run as a task.
        optional requests: ServerTaskRequests = "requests";
    }
}

body! {
    /// The requests to a server that can run as a task.
    pub struct ServerTaskRequests {
        /// Tool requests.
        optional tools: ToolTaskRequests = "tools";
    }
}

body! {
    /// The tool requests that can run as a task.
    pub struct ToolTaskRequests {
        /// `tools/call`.
        optional call: Marker = "call";
    }
}

body! {
    /// What a client can do; not a closed set.
    ///
    /// `extensions` is written for every revision: older ones let unknown capabilities pass, and that is how
    /// peers find out about extensions there.
    pub struct ClientCapabilities {
        /// Capabilities outside the specification, by name.
        optional experimental: Map<RawJson> = "experimental";
        /// Roots.
        optional roots: RootsCapability = "roots";
        /// Sampling.
        optional sampling: SamplingCapability = "sampling";
        /// Elicitation.
        optional elicitation: ElicitationCapability = "elicitation" [since V2025_06_18];
        /// Experimental tasks.
        optional tasks: ClientTasksCapability = "tasks" [only V2025_11_25];
        /// The settings of the extensions, by extension id.
        optional extensions: Map<RawJson> = "extensions";
    }
}

builders! {
    ClientCapabilities {
        with_experimental: experimental: Map<RawJson>,
        with_roots: roots: RootsCapability,
        with_sampling: sampling: SamplingCapability,
        with_elicitation: elicitation: ElicitationCapability,
        with_tasks: tasks: ClientTasksCapability,
        with_extensions: extensions: Map<RawJson>,
    }
}

body! {
    /// A list that the server offers.
    pub struct ListCapability {
        /// Whether the server tells when the list changes.
        optional list_changed: bool = "listChanged";
    }
}

body! {
    /// Resources that the server offers.
    pub struct ResourcesCapability {
        /// Whether single resources can be subscribed to.
        optional subscribe: bool = "subscribe";
        /// Whether the server tells when the list changes.
        optional list_changed: bool = "listChanged";
    }
}

body! {
    /// What a server can do; not a closed set.
    ///
    /// `extensions` is written for every revision, as in [`ClientCapabilities`].
    pub struct ServerCapabilities {
        /// Capabilities outside the specification, by name.
        optional experimental: Map<RawJson> = "experimental";
        /// Log messages.
        optional logging: Marker = "logging";
        /// Completion of arguments.
        optional completions: Marker = "completions" [since V2025_03_26];
        /// Prompts.
        optional prompts: ListCapability = "prompts";
        /// Resources.
        optional resources: ResourcesCapability = "resources";
        /// Tools.
        optional tools: ListCapability = "tools";
        /// Experimental tasks.
        optional tasks: ServerTasksCapability = "tasks" [only V2025_11_25];
        /// The settings of the extensions, by extension id.
        optional extensions: Map<RawJson> = "extensions";
    }
}

builders! {
    ServerCapabilities {
        with_experimental: experimental: Map<RawJson>,
        with_logging: logging: Marker,
        with_completions: completions: Marker,
        with_prompts: prompts: ListCapability,
        with_resources: resources: ResourcesCapability,
        with_tools: tools: ListCapability,
        with_tasks: tasks: ServerTasksCapability,
        with_extensions: extensions: Map<RawJson>,
    }
}
