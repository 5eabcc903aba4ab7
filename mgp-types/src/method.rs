use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The name of a method or notification; any name, known to us or not.
///
/// Names of the specification are interned, so the usual ones cost nothing to make or clone.
#[derive(Clone)]
pub struct Method(Name);

#[derive(Clone)]
enum Name {
    Known(&'static str),
    Other(Arc<str>),
}

macro_rules! known {
    ($($(#[$doc:meta])* $constant:ident = $name:literal;)+) => {
        impl Method {
            $($(#[$doc])* pub const $constant: Self = Self(Name::Known($name));)+

            /// The method called `name`.
            pub fn new(name: &str) -> Self {
                match name {
                    $($name => Self::$constant,)+
                    _ => Self(Name::Other(name.into())),
                }
            }
        }
    };
}

known! {
    /// Opens a session (revisions up to 2025-11-25).
    INITIALIZE = "initialize";
    /// Ends the opening of a session.
    INITIALIZED = "notifications/initialized";
    /// Asks whether the peer is alive.
    PING = "ping";
    /// Asks a server what it is (from 2026-07-28).
    DISCOVER = "server/discover";
    /// Lists tools.
    TOOLS_LIST = "tools/list";
    /// Calls a tool.
    TOOLS_CALL = "tools/call";
    /// Lists resources.
    RESOURCES_LIST = "resources/list";
    /// Lists resource templates.
    RESOURCES_TEMPLATES_LIST = "resources/templates/list";
    /// Reads a resource.
    RESOURCES_READ = "resources/read";
    /// Asks for notice of a resource's changes.
    RESOURCES_SUBSCRIBE = "resources/subscribe";
    /// Ends [`RESOURCES_SUBSCRIBE`](Self::RESOURCES_SUBSCRIBE).
    RESOURCES_UNSUBSCRIBE = "resources/unsubscribe";
    /// Lists prompts.
    PROMPTS_LIST = "prompts/list";
    /// Gets a prompt.
    PROMPTS_GET = "prompts/get";
    /// Completes an argument.
    COMPLETE = "completion/complete";
    /// Sets the least level of log messages.
    SET_LEVEL = "logging/setLevel";
    /// Opens a stream of change notifications (from 2026-07-28).
    LISTEN = "subscriptions/listen";
    /// Asks the client's model for a completion.
    CREATE_MESSAGE = "sampling/createMessage";
    /// Asks the user for input.
    ELICIT = "elicitation/create";
    /// Asks the client for its roots.
    ROOTS_LIST = "roots/list";
    /// Gets a task.
    TASKS_GET = "tasks/get";
    /// Waits for a task's result (2025-11-25).
    TASKS_RESULT = "tasks/result";
    /// Lists tasks (2025-11-25).
    TASKS_LIST = "tasks/list";
    /// Answers what a task asks for (2026-07-28 extension).
    TASKS_UPDATE = "tasks/update";
    /// Cancels a task.
    TASKS_CANCEL = "tasks/cancel";
    /// Takes a request back.
    CANCELLED = "notifications/cancelled";
    /// Tells how far a request is.
    PROGRESS = "notifications/progress";
    /// A log message.
    MESSAGE = "notifications/message";
    /// The tools changed.
    TOOLS_CHANGED = "notifications/tools/list_changed";
    /// The resources changed.
    RESOURCES_CHANGED = "notifications/resources/list_changed";
    /// One resource changed.
    RESOURCE_UPDATED = "notifications/resources/updated";
    /// The prompts changed.
    PROMPTS_CHANGED = "notifications/prompts/list_changed";
    /// The roots changed.
    ROOTS_CHANGED = "notifications/roots/list_changed";
    /// An elicitation by URL is over.
    ELICITATION_COMPLETE = "notifications/elicitation/complete";
    /// A task changed (2025-11-25).
    TASK_STATUS = "notifications/tasks/status";
    /// A task changed (2026-07-28 extension).
    TASKS = "notifications/tasks";
    /// What of a subscription is honoured.
    ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
}

impl Method {
    /// A method whose name the program contains.
    pub const fn from_static(name: &'static str) -> Self {
        Self(Name::Known(name))
    }

    /// The name on the wire.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Name::Known(name) => name,
            Name::Other(name) => name,
        }
    }

    /// Whether MGP defines the name: its methods start with `mgp/`, its notifications with
    /// `notifications/mgp.`, and no method of MCP with either.
    pub fn is_mgp(&self) -> bool {
        self.as_str().starts_with("mgp/") || self.as_str().starts_with("notifications/mgp.")
    }

    /// Whether the name is that of a notification.
    pub fn is_notification(&self) -> bool {
        self.as_str().starts_with("notifications/")
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Method {}

impl PartialEq<str> for Method {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl Hash for Method {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl std::borrow::Borrow<str> for Method {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl From<&str> for Method {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}
