//! The capabilities that clients and servers declare.

use super::Map;
use super::body::{body, builders};
use crate::RawJson;

body! {
    /// A capability without members of its own; its presence declares the support.
    pub struct Marker {}
}

body! {
    /// Roots: the client tells the server its directories.
    pub struct RootsCapability {
        /// True if the client tells when the list changes.
        optional list_changed: bool = "listChanged" [until V2025_11_25];
    }
}

builders! {
    RootsCapability {
        with_list_changed: list_changed: bool,
    }
}

body! {
    /// Sampling: the client's model answers requests of the server.
    pub struct SamplingCapability {
        /// The support of `includeContext` beyond `none`.
        optional context: Marker = "context" [since V2025_11_25];
        /// The support of `tools` and `toolChoice`.
        optional tools: Marker = "tools" [since V2025_11_25];
    }
}

builders! {
    SamplingCapability {
        with_context: context: Marker,
        with_tools: tools: Marker,
    }
}

body! {
    /// Elicitation: the client asks its user for the server.
    pub struct ElicitationCapability {
        /// Elicitation by a form; also supported if neither member is there.
        optional form: Marker = "form" [since V2025_11_25];
        /// Elicitation by a page that the user visits.
        optional url: Marker = "url" [since V2025_11_25];
    }
}

builders! {
    ElicitationCapability {
        with_form: form: Marker,
        with_url: url: Marker,
    }
}

impl ElicitationCapability {
    /// Returns whether forms are supported: the capability names them, or names no kind at all.
    pub const fn supports_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Returns whether visiting a page is supported.
    pub const fn supports_url(&self) -> bool {
        self.url.is_some()
    }
}

body! {
    /// Tasks of the revision 2025-11-25, as a client supports them.
    pub struct ClientTasksCapability {
        /// The support of `tasks/list`.
        optional list: Marker = "list";
        /// The support of `tasks/cancel`.
        optional cancel: Marker = "cancel";
        /// The requests that can run as a task.
        optional requests: ClientTaskRequests = "requests";
    }
}

builders! {
    ClientTasksCapability {
        with_list: list: Marker,
        with_cancel: cancel: Marker,
        with_requests: requests: ClientTaskRequests,
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

builders! {
    ClientTaskRequests {
        with_sampling: sampling: SamplingTaskRequests,
        with_elicitation: elicitation: ElicitationTaskRequests,
    }
}

body! {
    /// The sampling requests that can run as a task.
    pub struct SamplingTaskRequests {
        /// `sampling/createMessage`.
        optional create_message: Marker = "createMessage";
    }
}

builders! {
    SamplingTaskRequests {
        with_create_message: create_message: Marker,
    }
}

body! {
    /// The elicitation requests that can run as a task.
    pub struct ElicitationTaskRequests {
        /// `elicitation/create`.
        optional create: Marker = "create";
    }
}

builders! {
    ElicitationTaskRequests {
        with_create: create: Marker,
    }
}

body! {
    /// Tasks of the revision 2025-11-25, as a server supports them.
    pub struct ServerTasksCapability {
        /// The support of `tasks/list`.
        optional list: Marker = "list";
        /// The support of `tasks/cancel`.
        optional cancel: Marker = "cancel";
        /// The requests that can run as a task.
        optional requests: ServerTaskRequests = "requests";
    }
}

builders! {
    ServerTasksCapability {
        with_list: list: Marker,
        with_cancel: cancel: Marker,
        with_requests: requests: ServerTaskRequests,
    }
}

body! {
    /// The requests to a server that can run as a task.
    pub struct ServerTaskRequests {
        /// Tool requests.
        optional tools: ToolTaskRequests = "tools";
    }
}

builders! {
    ServerTaskRequests {
        with_tools: tools: ToolTaskRequests,
    }
}

body! {
    /// The tool requests that can run as a task.
    pub struct ToolTaskRequests {
        /// `tools/call`.
        optional call: Marker = "call";
    }
}

builders! {
    ToolTaskRequests {
        with_call: call: Marker,
    }
}

body! {
    /// The capabilities of a client; an open set.
    ///
    /// `extensions` is written for every revision: older revisions let unknown capabilities pass, and peers find out
    /// about extensions that way.
    pub struct ClientCapabilities {
        /// Capabilities outside the specification, by name.
        optional experimental: Map<RawJson> = "experimental";
        /// The support of roots.
        optional roots: RootsCapability = "roots";
        /// The support of sampling.
        optional sampling: SamplingCapability = "sampling";
        /// The support of elicitation.
        optional elicitation: ElicitationCapability = "elicitation" [since V2025_06_18];
        /// The support of the experimental tasks.
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
        /// True if the server sends a notification when the list changes.
        optional list_changed: bool = "listChanged";
    }
}

builders! {
    ListCapability {
        with_list_changed: list_changed: bool,
    }
}

body! {
    /// Resources that the server offers.
    pub struct ResourcesCapability {
        /// True if single resources can be subscribed to.
        optional subscribe: bool = "subscribe";
        /// True if the server sends a notification when the list changes.
        optional list_changed: bool = "listChanged";
    }
}

builders! {
    ResourcesCapability {
        with_subscribe: subscribe: bool,
        with_list_changed: list_changed: bool,
    }
}

body! {
    /// The capabilities of a server; an open set.
    ///
    /// `extensions` is written for every revision, as in [`ClientCapabilities`].
    pub struct ServerCapabilities {
        /// Capabilities outside the specification, by name.
        optional experimental: Map<RawJson> = "experimental";
        /// The support of log messages.
        optional logging: Marker = "logging";
        /// The support of completion of arguments.
        optional completions: Marker = "completions" [since V2025_03_26];
        /// The support of prompts.
        optional prompts: ListCapability = "prompts";
        /// The support of resources.
        optional resources: ResourcesCapability = "resources";
        /// The support of tools.
        optional tools: ListCapability = "tools";
        /// The support of the experimental tasks.
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
