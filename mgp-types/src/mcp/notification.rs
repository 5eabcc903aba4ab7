//! Notifications about requests under way, the messages of the log, and the subscriptions of the stateless revisions.

use super::body::body;
use super::union::open_enum;
use super::{Meta, Number, ResultType};
use crate::{Id, RawJson};

body! {
    /// The params of `notifications/cancelled`.
    pub struct CancelledParams with meta {
        /// The id of the request; absent only in 2025-11-25, which cancels tasks by `tasks/cancel`.
        optional request_id: Id = "requestId" => with_request_id;
        /// The reason of the cancellation, for people.
        optional reason: String = "reason" => with_reason;
    }

    /// The params of `notifications/progress`.
    pub struct ProgressParams with meta => with_meta {
        /// The token of the request.
        required progress_token: ProgressToken = "progressToken";
        /// The amount of work done; it increases with every notification.
        required progress: Number = "progress";
        /// The amount of work in all, if known.
        optional total: Number = "total" => with_total;
        /// The current step of the work, for people.
        optional message: String = "message" [since V2025_03_26] => with_message;
    }

    /// The params of `logging/setLevel`.
    pub struct SetLevelParams with meta {
        /// The lowest level wanted.
        required level: LogLevel = "level";
    }

    /// The params of `notifications/message`.
    pub struct LoggingMessageParams with meta => with_meta {
        /// The severity of the message.
        required level: LogLevel = "level";
        /// The name of the logger.
        optional logger: String = "logger" => with_logger;
        /// The message: any JSON.
        required data: RawJson = "data";
    }

    /// The notifications that a subscription is for; the extensions' members are in `extra`.
    pub struct SubscriptionFilter {
        /// The wish for `notifications/tools/list_changed`.
        optional tools_list_changed: bool = "toolsListChanged" => with_tools_list_changed;
        /// The wish for `notifications/prompts/list_changed`.
        optional prompts_list_changed: bool = "promptsListChanged" => with_prompts_list_changed;
        /// The wish for `notifications/resources/list_changed`.
        optional resources_list_changed: bool = "resourcesListChanged" => with_resources_list_changed;
        /// The URIs whose `notifications/resources/updated` are wanted.
        optional resource_subscriptions: Vec<String> = "resourceSubscriptions" => with_resource_subscriptions;
        /// The tasks of the tasks extension whose `notifications/tasks` are wanted.
        optional task_ids: Vec<String> = "taskIds" => with_task_ids;
    }

    /// The params of `subscriptions/listen`.
    pub struct SubscriptionsListenParams with meta {
        /// The wanted notifications.
        required notifications: SubscriptionFilter = "notifications";
    }

    /// The result of `subscriptions/listen`, which ends the stream.
    pub struct SubscriptionsListenResult {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
        /// Metadata, which names the subscription.
        required meta: Meta = "_meta";
    }

    /// The params of `notifications/subscriptions/acknowledged`, the first message of the stream.
    pub struct SubscriptionsAcknowledgedParams with meta {
        /// The wanted notifications that the server will send.
        required notifications: SubscriptionFilter = "notifications";
    }
}

/// The token that ties progress notifications to their request: a string or an integer, like the [`Id`] of a request. The
/// sender of the request chooses the token, and the receiver returns it exactly as it came.
pub type ProgressToken = Id;

open_enum! {
    /// The severity of a log message, after RFC 5424.
    pub enum LogLevel {
        /// A message for debugging.
        Debug = "debug",
        /// A message for information.
        Info = "info",
        /// A normal but significant event.
        Notice = "notice",
        /// A warning.
        Warning = "warning",
        /// An error.
        Error = "error",
        /// A critical condition.
        Critical = "critical",
        /// An event on which somebody must act at once.
        Alert = "alert",
        /// The system is unusable.
        Emergency = "emergency",
    }
}
