//! Subscriptions of the stateless revisions: one request whose answer is a stream of notifications.

use super::body::body;
use super::{Meta, ResultType};

body! {
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
    pub struct SubscriptionsListenParams {
        /// Metadata.
        optional meta: Meta = "_meta";
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
    pub struct SubscriptionsAcknowledgedParams {
        /// Metadata, which names the subscription.
        optional meta: Meta = "_meta";
        /// The wanted notifications that the server will send.
        required notifications: SubscriptionFilter = "notifications";
    }
}
