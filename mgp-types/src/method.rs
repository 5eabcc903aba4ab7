//! The names of methods and notifications.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::Revision;
use crate::mcp::{method, notification_name as name};
use crate::mgp::method as mgp;

/// The name of a method or notification, whether this crate knows the method or not.
///
/// Names of the specification are interned, so the usual ones cost nothing to make or clone.
#[derive(Clone)]
pub struct Method(MethodName);

/// The sides whose call a message can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two ends")]
pub enum CallSide {
    /// The call belongs to the sender of the message, who wants it stopped or slowed down.
    Sender,
    /// The call belongs to the receiver of the message, who gets a part of the result or a report of progress.
    Receiver,
}

/// The prefix of all notifications about the stream of a call.
const STREAM: &str = "notifications/mgp.stream.";

#[derive(Clone)]
enum MethodName {
    Known(&'static str),
    Other(Arc<str>),
}

macro_rules! known {
    ($($(#[$doc:meta])* $constant:ident = $module:ident::$name:ident;)+) => {
        impl Method {
            $($(#[$doc])* pub const $constant: Self = Self(MethodName::Known($module::$name));)+

            /// Returns the method with this name.
            pub fn new(text: &str) -> Self {
                match text {
                    $($module::$name => Self::$constant,)+
                    _ => Self(MethodName::Other(text.into())),
                }
            }
        }
    };
}

known! {
    /// Opens a session (revisions up to 2025-11-25).
    INITIALIZE = method::INITIALIZE;
    /// Ends the opening of a session.
    INITIALIZED = name::INITIALIZED;
    /// Asks whether the peer is alive.
    PING = method::PING;
    /// Asks a server for its capabilities (from 2026-07-28).
    DISCOVER = method::SERVER_DISCOVER;
    /// Lists tools.
    TOOLS_LIST = method::TOOLS_LIST;
    /// Calls a tool.
    TOOLS_CALL = method::TOOLS_CALL;
    /// Lists resources.
    RESOURCES_LIST = method::RESOURCES_LIST;
    /// Lists resource templates.
    RESOURCES_TEMPLATES_LIST = method::RESOURCES_TEMPLATES_LIST;
    /// Reads a resource.
    RESOURCES_READ = method::RESOURCES_READ;
    /// Asks for notice of a resource's changes.
    RESOURCES_SUBSCRIBE = method::RESOURCES_SUBSCRIBE;
    /// Ends [`RESOURCES_SUBSCRIBE`](Self::RESOURCES_SUBSCRIBE).
    RESOURCES_UNSUBSCRIBE = method::RESOURCES_UNSUBSCRIBE;
    /// Lists prompts.
    PROMPTS_LIST = method::PROMPTS_LIST;
    /// Gets a prompt.
    PROMPTS_GET = method::PROMPTS_GET;
    /// Completes an argument.
    COMPLETE = method::COMPLETION_COMPLETE;
    /// Sets the least level of log messages.
    SET_LEVEL = method::LOGGING_SET_LEVEL;
    /// Opens a stream of change notifications (from 2026-07-28).
    LISTEN = method::SUBSCRIPTIONS_LISTEN;
    /// Asks the client's model for a completion.
    CREATE_MESSAGE = method::SAMPLING_CREATE_MESSAGE;
    /// Asks the user for input.
    ELICIT = method::ELICITATION_CREATE;
    /// Asks the client for its roots.
    ROOTS_LIST = method::ROOTS_LIST;
    /// Gets a task.
    TASKS_GET = method::TASKS_GET;
    /// Waits for a task's result (2025-11-25).
    TASKS_RESULT = method::TASKS_RESULT;
    /// Lists tasks (2025-11-25).
    TASKS_LIST = method::TASKS_LIST;
    /// Answers what a task asks for (2026-07-28 extension).
    TASKS_UPDATE = method::TASKS_UPDATE;
    /// Cancels a task.
    TASKS_CANCEL = method::TASKS_CANCEL;
    /// Takes a request back.
    CANCELLED = name::CANCELLED;
    /// Tells how far a request is.
    PROGRESS = name::PROGRESS;
    /// Carries a log message.
    MESSAGE = name::MESSAGE;
    /// Tells that the list of tools changed.
    TOOLS_CHANGED = name::TOOLS_LIST_CHANGED;
    /// Tells that the list of resources changed.
    RESOURCES_CHANGED = name::RESOURCES_LIST_CHANGED;
    /// Tells that one resource changed.
    RESOURCE_UPDATED = name::RESOURCES_UPDATED;
    /// Tells that the list of prompts changed.
    PROMPTS_CHANGED = name::PROMPTS_LIST_CHANGED;
    /// Tells that the roots changed.
    ROOTS_CHANGED = name::ROOTS_LIST_CHANGED;
    /// Tells that an elicitation by URL is over.
    ELICITATION_COMPLETE = name::ELICITATION_COMPLETE;
    /// Tells that a task changed (2025-11-25).
    TASK_STATUS = name::TASKS_STATUS;
    /// Tells that a task changed (2026-07-28 extension).
    TASKS = name::TASKS;
    /// Tells which notifications a subscription will bring.
    ACKNOWLEDGED = name::SUBSCRIPTIONS_ACKNOWLEDGED;
    /// Carries a part of a result (MGP §12.4).
    STREAM_CHUNK = mgp::STREAM_CHUNK;
    /// Tells how far a call is (MGP §12.6).
    STREAM_PROGRESS = mgp::STREAM_PROGRESS;
    /// Stops a call (MGP §12.7).
    STREAM_CANCEL = mgp::STREAM_CANCEL;
    /// Carries an event of a subscription (MGP §13.3).
    EVENT = mgp::EVENT;
}

impl Method {
    /// A name that no method has.
    pub(crate) const NONE: Self = Self(MethodName::Known(""));

    /// Returns a method whose name the program contains.
    pub const fn from_static(name: &'static str) -> Self {
        Self(MethodName::Known(name))
    }

    /// Returns the name on the wire.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            MethodName::Known(name) => name,
            MethodName::Other(name) => name,
        }
    }

    /// Returns the name if the specification has it or the program contains it.
    pub const fn known(&self) -> Option<&'static str> {
        match self.0 {
            MethodName::Known(name) => Some(name),
            MethodName::Other(_) => None,
        }
    }

    /// Returns whether `revision` has the method. Methods that no revision knows belong to other protocols and exist in
    /// all.
    pub fn exists_in(&self, revision: Revision) -> bool {
        let text = self.as_str();
        let defined = |revision| method::is_defined(text, revision) || name::is_defined(text, revision);
        defined(revision) || !Revision::ALL.into_iter().any(defined)
    }

    /// Returns whether MGP defines the name: its methods start with `mgp/`, its notifications with
    /// `notifications/mgp.`, and no method of MCP starts with either.
    pub fn is_mgp(&self) -> bool {
        self.as_str().starts_with("mgp/") || self.as_str().starts_with("notifications/mgp.")
    }

    /// Returns the side whose call the messages of this method are about. Such messages name the call by its JSON-RPC
    /// id in `request_id`. `None` stands for methods about no call.
    ///
    /// Later drafts have further messages on the stream of a call; they go the way of the known ones.
    pub fn about_call(&self) -> Option<CallSide> {
        match self.as_str() {
            mgp::STREAM_CANCEL | mgp::STREAM_PACE | mgp::STREAM_GAP => Some(CallSide::Sender),
            mgp::CALLBACK_REQUEST => Some(CallSide::Receiver),
            name => name.starts_with(STREAM).then_some(CallSide::Receiver),
        }
    }

    /// Returns whether the messages of this method are [about a call](Self::about_call).
    pub fn is_about_a_call(&self) -> bool {
        self.about_call().is_some()
    }

    /// Returns whether the name is that of a notification.
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

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-1.5-04
    #[test]
    fn a_method_exists_in_its_revisions_and_a_vendors_in_all() {
        assert!(
            Method::PING.exists_in(Revision::V2025_11_25) && !Method::PING.exists_in(Revision::V2026_07_28)
        );
        assert!(
            Method::LISTEN.exists_in(Revision::V2026_07_28)
                && !Method::LISTEN.exists_in(Revision::V2025_11_25)
        );
        assert!(Revision::ALL.into_iter().all(|revision| Method::new("vendor/thing").exists_in(revision)));
    }

    #[test]
    fn every_message_about_a_call_has_a_side() {
        for (name, side) in [
            (mgp::STREAM_CHUNK, CallSide::Receiver),
            (mgp::STREAM_PROGRESS, CallSide::Receiver),
            (mgp::STREAM_GAP_UNRECOVERABLE, CallSide::Receiver),
            (mgp::CALLBACK_REQUEST, CallSide::Receiver),
            ("notifications/mgp.stream.later", CallSide::Receiver),
            (mgp::STREAM_CANCEL, CallSide::Sender),
            (mgp::STREAM_PACE, CallSide::Sender),
            (mgp::STREAM_GAP, CallSide::Sender),
        ] {
            assert_eq!(Method::new(name).about_call(), Some(side), "{name}");
        }
        assert_eq!(Method::PROGRESS.about_call(), None);
    }
}
