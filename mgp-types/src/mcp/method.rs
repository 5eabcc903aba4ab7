//! The methods and notifications of MCP, with the bodies and revisions of each.

use std::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::shape::{Shape, Shaped};
use super::{ForRevision, task, task_extension};
use crate::{RawJson, Revision};

/// The params of a method.
pub trait RequestBody: ForRevision + Serialize + DeserializeOwned {
    /// The name of the method.
    const METHOD: &'static str;

    /// The revisions that define the method.
    const REVISIONS: RangeInclusive<Revision>;

    /// The result of the method.
    ///
    /// A server may answer with another result: see [`Answer`](super::Answer) for stateless revisions and
    /// [`CreateTaskResult`](super::task::CreateTaskResult) for requests with `task`.
    type Result: ForRevision + Serialize + DeserializeOwned;
}

/// The params of a notification.
pub trait NotificationBody: ForRevision + Serialize + DeserializeOwned {
    /// The name of the notification.
    const METHOD: &'static str;

    /// The revisions that define the notification.
    const REVISIONS: RangeInclusive<Revision>;
}

/// Expands to a revision or a range of revisions.
macro_rules! revisions {
    (all) => {
        $crate::Revision::V2024_11_05..=$crate::Revision::LATEST
    };
    (only $only:ident) => {
        $crate::Revision::$only..=$crate::Revision::$only
    };
    (since $since:ident) => {
        $crate::Revision::$since..=$crate::Revision::LATEST
    };
    (until $until:ident) => {
        $crate::Revision::V2024_11_05..=$crate::Revision::$until
    };
    (from $from:ident to $to:ident) => {
        $crate::Revision::$from..=$crate::Revision::$to
    };
}

pub(super) use revisions;

/// Defines the names of methods or notifications, with their params and revisions.
macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident = $method:literal: $($params:ty [$($range:tt)*]),+;)*) => {
        impl crate::Method {
            $($(#[$doc])* pub const $name: Self = Self::from_static($method);)*
        }

        $($(#[$doc])* pub const $name: &str = $method;)*

        /// The names of all methods of the kind.
        pub(crate) const NAMES: &[&str] = &[$($method),*];

        /// Returns the shape of the params of a method, if it is known.
        pub(crate) fn params_shape(method: &str) -> Option<Shape> {
            Some(match method {
                $($method => {
                    const KINDS: &[fn() -> Shape] = &[$(<$params as Shaped>::shape),+];
                    Shape::AnyOf(KINDS)
                })*
                _ => return None,
            })
        }

        /// Returns whether `revision` or one of its official extensions defines the method.
        pub fn is_defined(method: &str, revision: Revision) -> bool {
            match method {
                $($method => $((revisions!($($range)*)).contains(&revision))||+,)*
                _ => false,
            }
        }
    };
}

/// Defines the names of methods, with their params, results and revisions.
macro_rules! requests {
    ($($(#[$doc:meta])* $name:ident = $method:literal: $($params:ty => $result:ty [$($range:tt)*]),+;)*) => {
        methods! { $($(#[$doc])* $name = $method: $($params [$($range)*]),+;)* }

        $($(
            impl RequestBody for $params {
                const METHOD: &'static str = $method;
                const REVISIONS: RangeInclusive<Revision> = revisions!($($range)*);
                type Result = $result;
            }
        )+)*

        /// Returns the shape of the results of a method, if it is known.
        pub(crate) fn result_shape(method: &str) -> Option<Shape> {
            Some(match method {
                $($method => {
                    const KINDS: &[fn() -> Shape] = &[
                        $(<$result as Shaped>::shape,)+
                        super::InputRequiredResult::shape,
                        task::CreateTaskResult::shape,
                        task_extension::CreateExtensionTaskResult::shape,
                    ];
                    Shape::AnyOf(KINDS)
                })*
                _ => return None,
            })
        }
    };
}

requests! {
    /// Opens a session.
    INITIALIZE = "initialize": super::InitializeParams => super::InitializeResult [until V2025_11_25];
    /// Asks whether the peer is alive.
    PING = "ping": super::PingParams => super::EmptyResult [until V2025_11_25];
    /// Asks for the capabilities of the server.
    DISCOVER = "server/discover": super::DiscoverParams => super::DiscoverResult [since V2026_07_28];
    /// Lists tools.
    TOOLS_LIST = "tools/list": super::ListToolsParams => super::ListToolsResult [all];
    /// Calls a tool.
    TOOLS_CALL = "tools/call": super::CallToolParams => super::CallToolResult [all];
    /// Lists resources.
    RESOURCES_LIST = "resources/list": super::ListResourcesParams => super::ListResourcesResult [all];
    /// Lists templates of resources.
    RESOURCES_TEMPLATES_LIST = "resources/templates/list":
        super::ListResourceTemplatesParams => super::ListResourceTemplatesResult [all];
    /// Reads a resource.
    RESOURCES_READ = "resources/read": super::ReadResourceParams => super::ReadResourceResult [all];
    /// Asks for notifications about one resource.
    RESOURCES_SUBSCRIBE = "resources/subscribe":
        super::SubscribeParams => super::EmptyResult [until V2025_11_25];
    /// Ends notifications about one resource.
    RESOURCES_UNSUBSCRIBE = "resources/unsubscribe":
        super::UnsubscribeParams => super::EmptyResult [until V2025_11_25];
    /// Lists prompts.
    PROMPTS_LIST = "prompts/list": super::ListPromptsParams => super::ListPromptsResult [all];
    /// Gets a prompt.
    PROMPTS_GET = "prompts/get": super::GetPromptParams => super::GetPromptResult [all];
    /// Completes an argument.
    COMPLETE = "completion/complete": super::CompleteParams => super::CompleteResult [all];
    /// Sets the lowest level of log messages.
    SET_LEVEL = "logging/setLevel": super::SetLevelParams => super::EmptyResult [until V2025_11_25];
    /// Asks for notifications.
    LISTEN = "subscriptions/listen":
        super::SubscriptionsListenParams => super::SubscriptionsListenResult [since V2026_07_28];
    /// Asks the client's model; inside a result since 2026-07-28.
    CREATE_MESSAGE = "sampling/createMessage":
        super::CreateMessageParams => super::CreateMessageResult [all];
    /// Asks the client's user; inside a result since 2026-07-28.
    ELICIT = "elicitation/create": super::ElicitParams => super::ElicitResult [since V2025_06_18];
    /// Asks for the client's roots; inside a result since 2026-07-28.
    ROOTS_LIST = "roots/list": super::ListRootsParams => super::ListRootsResult [all];
    /// Asks for the status of a task; two different methods have this name.
    TASKS_GET = "tasks/get":
        task::GetTaskParams => task::Task [only V2025_11_25],
        task_extension::GetExtensionTaskParams => task_extension::DetailedTask [since V2026_07_28];
    /// Waits for the result of a task.
    TASKS_RESULT = "tasks/result": task::GetTaskPayloadParams => RawJson [only V2025_11_25];
    /// Lists tasks.
    TASKS_LIST = "tasks/list": task::ListTasksParams => task::ListTasksResult [only V2025_11_25];
    /// Gives a task the input it waits for.
    TASKS_UPDATE = "tasks/update": task_extension::UpdateTaskParams => super::EmptyResult [since V2026_07_28];
    /// Cancels a task; two different methods have this name.
    TASKS_CANCEL = "tasks/cancel":
        task::CancelTaskParams => task::Task [only V2025_11_25],
        task_extension::CancelExtensionTaskParams => super::EmptyResult [since V2026_07_28];
}

/// The names of the notifications.
pub mod notification_name {
    use super::{NotificationBody, RangeInclusive, Revision, Shape, Shaped, task, task_extension};
    use crate::mcp;

    /// Defines the names of notifications, with their params and revisions.
    macro_rules! notifications {
        ($($(#[$doc:meta])* $name:ident = $method:literal: $params:ty [$($range:tt)*];)*) => {
            methods! { $($(#[$doc])* $name = $method: $params [$($range)*];)* }

            $(
                impl NotificationBody for $params {
                    const METHOD: &'static str = $method;
                    const REVISIONS: RangeInclusive<Revision> = revisions!($($range)*);
                }
            )*
        };
    }

    notifications! {
        /// Tells that the session is open.
        INITIALIZED = "notifications/initialized": mcp::InitializedParams [until V2025_11_25];
        /// Tells that a request is no longer wanted.
        CANCELLED = "notifications/cancelled": mcp::CancelledParams [all];
        /// Tells how far a request has come.
        PROGRESS = "notifications/progress": mcp::ProgressParams [all];
        /// Carries a log message.
        MESSAGE = "notifications/message": mcp::LoggingMessageParams [all];
        /// Tells that the list of tools has changed.
        TOOLS_CHANGED = "notifications/tools/list_changed": mcp::ToolListChangedParams [all];
        /// Tells that the list of prompts has changed.
        PROMPTS_CHANGED = "notifications/prompts/list_changed": mcp::PromptListChangedParams [all];
        /// Tells that the list of resources has changed.
        RESOURCES_CHANGED = "notifications/resources/list_changed": mcp::ResourceListChangedParams [all];
        /// Tells that a resource has changed.
        RESOURCE_UPDATED = "notifications/resources/updated": mcp::ResourceUpdatedParams [all];
        /// Tells that the roots have changed.
        ROOTS_CHANGED = "notifications/roots/list_changed": mcp::RootsListChangedParams [until V2025_11_25];
        /// Tells that the user is done with a page.
        ELICITATION_COMPLETE = "notifications/elicitation/complete":
            mcp::ElicitationCompleteParams [only V2025_11_25];
        /// Tells that the status of a task has changed.
        TASK_STATUS = "notifications/tasks/status": task::Task [only V2025_11_25];
        /// Tells which notifications a subscription will bring.
        ACKNOWLEDGED = "notifications/subscriptions/acknowledged":
            mcp::SubscriptionsAcknowledgedParams [since V2026_07_28];
        /// Tells that a task of the tasks extension has changed.
        TASKS = "notifications/tasks": task_extension::DetailedTask [since V2026_07_28];
    }
}

#[cfg(test)]
mod tests {
    use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

    use super::*;

    fn revisions_of(is_defined: impl Fn(Revision) -> bool) -> Vec<Revision> {
        let mut revisions: Vec<_> =
            Revision::ALL.into_iter().filter(|revision| is_defined(*revision)).collect();
        revisions.reverse();
        revisions
    }

    #[test]
    fn methods_are_defined_in_their_revisions() {
        let sessions = vec![V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25];
        for (name, expected) in [
            (INITIALIZE, sessions.clone()),
            (PING, sessions.clone()),
            (SET_LEVEL, sessions.clone()),
            (RESOURCES_SUBSCRIBE, sessions),
            (DISCOVER, vec![V2026_07_28]),
            (LISTEN, vec![V2026_07_28]),
            (TOOLS_CALL, vec![V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28]),
            (ELICIT, vec![V2025_06_18, V2025_11_25, V2026_07_28]),
            (TASKS_GET, vec![V2025_11_25, V2026_07_28]),
            (TASKS_LIST, vec![V2025_11_25]),
            (TASKS_UPDATE, vec![V2026_07_28]),
            ("tools/run", vec![]),
        ] {
            assert_eq!(revisions_of(|revision| is_defined(name, revision)), expected, "{name}");
        }
    }

    #[test]
    fn notifications_are_defined_in_their_revisions() {
        use notification_name::{ACKNOWLEDGED, INITIALIZED, TASK_STATUS, is_defined};
        let sessions = vec![V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25];
        assert_eq!(revisions_of(|revision| is_defined(INITIALIZED, revision)), sessions);
        assert_eq!(revisions_of(|revision| is_defined(TASK_STATUS, revision)), [V2025_11_25]);
        assert_eq!(revisions_of(|revision| is_defined(ACKNOWLEDGED, revision)), [V2026_07_28]);
    }
}
