//! The capabilities that clients and servers declare.

use super::Map;
use super::body::body;
use crate::RawJson;

body! {
    /// A capability without members of its own; its presence declares the support.
    pub struct Marker {}

    /// Roots: the client tells the server its directories.
    pub struct RootsCapability {
        /// True if the client tells when the list changes.
        optional list_changed: bool = "listChanged" [until V2025_11_25] => with_list_changed;
    }

    /// Sampling: the client's model answers requests of the server.
    pub struct SamplingCapability {
        /// The support of `includeContext` beyond `none`.
        optional context: Marker = "context" [since V2025_11_25] => with_context;
        /// The support of `tools` and `toolChoice`.
        optional tools: Marker = "tools" [since V2025_11_25] => with_tools;
    }

    /// Elicitation: the client asks its user for the server.
    pub struct ElicitationCapability {
        /// Elicitation by a form; also supported if neither member is there.
        optional form: Marker = "form" [since V2025_11_25] => with_form;
        /// Elicitation by a page that the user visits.
        optional url: Marker = "url" [since V2025_11_25] => with_url;
    }

    /// Tasks of the revision 2025-11-25, as a client supports them.
    pub struct ClientTasksCapability {
        /// The support of `tasks/list`.
        optional list: Marker = "list" => with_list;
        /// The support of `tasks/cancel`.
        optional cancel: Marker = "cancel" => with_cancel;
        /// The requests that can run as a task.
        optional requests: ClientTaskRequests = "requests" => with_requests;
    }

    /// The requests to a client that can run as a task.
    pub struct ClientTaskRequests {
        /// Sampling requests.
        optional sampling: SamplingTaskRequests = "sampling" => with_sampling;
        /// Elicitation requests.
        optional elicitation: ElicitationTaskRequests = "elicitation" => with_elicitation;
    }

    /// The sampling requests that can run as a task.
    pub struct SamplingTaskRequests {
        /// `sampling/createMessage`.
        optional create_message: Marker = "createMessage" => with_create_message;
    }

    /// The elicitation requests that can run as a task.
    pub struct ElicitationTaskRequests {
        /// `elicitation/create`.
        optional create: Marker = "create" => with_create;
    }

    /// Tasks of the revision 2025-11-25, as a server supports them.
    pub struct ServerTasksCapability {
        /// The support of `tasks/list`.
        optional list: Marker = "list" => with_list;
        /// The support of `tasks/cancel`.
        optional cancel: Marker = "cancel" => with_cancel;
        /// The requests that can run as a task.
        optional requests: ServerTaskRequests = "requests" => with_requests;
    }

    /// The requests to a server that can run as a task.
    pub struct ServerTaskRequests {
        /// Tool requests.
        optional tools: ToolTaskRequests = "tools" => with_tools;
    }

    /// The tool requests that can run as a task.
    pub struct ToolTaskRequests {
        /// `tools/call`.
        optional call: Marker = "call" => with_call;
    }

    /// The capabilities of a client; an open set.
    ///
    /// `extensions` is written for every revision: older revisions let unknown capabilities pass, and peers find out
    /// about extensions that way.
    pub struct ClientCapabilities {
        /// Capabilities outside the specification, by name.
        optional experimental: Map<RawJson> = "experimental" => with_experimental;
        /// The support of roots.
        optional roots: RootsCapability = "roots" => with_roots;
        /// The support of sampling.
        optional sampling: SamplingCapability = "sampling" => with_sampling;
        /// The support of elicitation.
        optional elicitation: ElicitationCapability = "elicitation" [since V2025_06_18] => with_elicitation;
        /// The support of the experimental tasks.
        optional tasks: ClientTasksCapability = "tasks" [only V2025_11_25] => with_tasks;
        /// The settings of the extensions, by extension id.
        optional extensions: Map<RawJson> = "extensions" => with_extensions;
    }

    /// A list that the server offers.
    pub struct ListCapability {
        /// True if the server sends a notification when the list changes.
        optional list_changed: bool = "listChanged" => with_list_changed;
    }

    /// Resources that the server offers.
    pub struct ResourcesCapability {
        /// True if single resources can be subscribed to.
        optional subscribe: bool = "subscribe" => with_subscribe;
        /// True if the server sends a notification when the list changes.
        optional list_changed: bool = "listChanged" => with_list_changed;
    }

    /// The capabilities of a server; an open set.
    ///
    /// `extensions` is written for every revision, as in [`ClientCapabilities`].
    pub struct ServerCapabilities {
        /// Capabilities outside the specification, by name.
        optional experimental: Map<RawJson> = "experimental" => with_experimental;
        /// The support of log messages.
        optional logging: Marker = "logging" => with_logging;
        /// The support of completion of arguments.
        optional completions: Marker = "completions" [since V2025_03_26] => with_completions;
        /// The support of prompts.
        optional prompts: ListCapability = "prompts" => with_prompts;
        /// The support of resources.
        optional resources: ResourcesCapability = "resources" => with_resources;
        /// The support of tools.
        optional tools: ListCapability = "tools" => with_tools;
        /// The support of the experimental tasks.
        optional tasks: ServerTasksCapability = "tasks" [only V2025_11_25] => with_tasks;
        /// The settings of the extensions, by extension id.
        optional extensions: Map<RawJson> = "extensions" => with_extensions;
    }
}
