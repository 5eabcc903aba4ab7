//! The extension `io.modelcontextprotocol/tasks` of the stateless revisions.
//!
//! The experimental tasks of 2025-11-25 are others: see [`task`](super::task).

use super::body::{body, builders};
use super::{InputRequests, InputResponses, Meta, ResultType};
use crate::RawJson;

pub use super::task::TaskStatus;

/// The id under which both sides declare the extension.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/tasks";

body! {
    /// The result of `tools/call` that goes on as a task.
    pub struct CreateTaskResult {
        /// The kind of result: always `task`.
        required result_type: ResultType = "resultType";
        /// The id of the task.
        required task_id: String = "taskId";
        /// The status of the task.
        required status: TaskStatus = "status";
        /// The status in words, for people.
        optional status_message: String = "statusMessage";
        /// The time of creation of the task, in ISO 8601.
        required created_at: String = "createdAt";
        /// The time of the last change of the task, in ISO 8601.
        required last_updated_at: String = "lastUpdatedAt";
        /// The time in milliseconds, from its creation on, for which the task is kept; `None` stands for no end.
        required ttl_ms: Option<i64> = "ttlMs";
        /// The time in milliseconds to wait between two polls.
        optional poll_interval_ms: i64 = "pollIntervalMs";
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

builders! {
    CreateTaskResult {
        with_status_message: status_message: String,
        with_poll_interval_ms: poll_interval_ms: i64,
        with_meta: meta: Meta,
    }
}

body! {
    /// A task with the members that its status calls for: the result of `tasks/get`, and the params of
    /// `notifications/tasks`, which have no `resultType`.
    pub struct DetailedTask {
        /// The kind of result; absent in a notification.
        optional result_type: ResultType = "resultType";
        /// The id of the task.
        required task_id: String = "taskId";
        /// The status of the task.
        required status: TaskStatus = "status";
        /// The status in words, for people.
        optional status_message: String = "statusMessage";
        /// The time of creation of the task, in ISO 8601.
        required created_at: String = "createdAt";
        /// The time of the last change of the task, in ISO 8601.
        required last_updated_at: String = "lastUpdatedAt";
        /// The time in milliseconds, from its creation on, for which the task is kept; `None` stands for no end.
        required ttl_ms: Option<i64> = "ttlMs";
        /// The time in milliseconds to wait between two polls.
        optional poll_interval_ms: i64 = "pollIntervalMs";
        /// The questions that the server needs answered, while the status is `input_required`.
        optional input_requests: InputRequests = "inputRequests";
        /// The result of the request that became the task, once it is `completed`.
        optional result: RawJson = "result";
        /// The JSON-RPC error of the request that became the task, once it is `failed`.
        optional error: RawJson = "error";
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

builders! {
    DetailedTask {
        with_result_type: result_type: ResultType,
        with_status_message: status_message: String,
        with_poll_interval_ms: poll_interval_ms: i64,
        with_input_requests: input_requests: InputRequests,
        with_result: result: RawJson,
        with_error: error: RawJson,
        with_meta: meta: Meta,
    }
}

body! {
    /// The params of `tasks/get`.
    pub struct GetTaskParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The id of the task.
        required task_id: String = "taskId";
    }
}

body! {
    /// The params of `tasks/update`.
    pub struct UpdateTaskParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The id of the task.
        required task_id: String = "taskId";
        /// Answers to some or all of the task's input requests.
        required input_responses: InputResponses = "inputResponses";
    }
}

body! {
    /// The params of `tasks/cancel`.
    pub struct CancelTaskParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The id of the task.
        required task_id: String = "taskId";
    }
}
