//! The extension `io.modelcontextprotocol/tasks` of the stateless revisions.
//!
//! The experimental tasks of 2025-11-25 are others: see [`task`](super::task).

use super::body::body;
use super::{InputRequests, InputResponses, ResultType};
use crate::RawJson;

pub use super::task::TaskStatus;

/// The id under which both sides declare the extension.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/tasks";

body! {
    /// The result of `tools/call` that goes on as a task.
    pub struct CreateExtensionTaskResult and meta => with_meta {
        /// The kind of result: always `task`.
        required result_type: ResultType = "resultType";
        /// The id of the task.
        required task_id: String = "taskId";
        /// The status of the task.
        required status: TaskStatus = "status";
        /// The status in words, for people.
        optional status_message: String = "statusMessage" => with_status_message;
        /// The time of creation of the task, in ISO 8601.
        required created_at: String = "createdAt";
        /// The time of the last change of the task, in ISO 8601.
        required last_updated_at: String = "lastUpdatedAt";
        /// The time in milliseconds, from its creation on, for which the task is kept; `None` stands for no end.
        required ttl_ms: Option<i64> = "ttlMs";
        /// The time in milliseconds to wait between two polls.
        optional poll_interval_ms: i64 = "pollIntervalMs" => with_poll_interval_ms;
    }

    /// A task with the members that its status calls for: the result of `tasks/get`, and the params of
    /// `notifications/tasks`, which have no `resultType`.
    pub struct DetailedTask and meta => with_meta {
        /// The kind of result; absent in a notification.
        optional result_type: ResultType = "resultType" => with_result_type;
        /// The id of the task.
        required task_id: String = "taskId";
        /// The status of the task.
        required status: TaskStatus = "status";
        /// The status in words, for people.
        optional status_message: String = "statusMessage" => with_status_message;
        /// The time of creation of the task, in ISO 8601.
        required created_at: String = "createdAt";
        /// The time of the last change of the task, in ISO 8601.
        required last_updated_at: String = "lastUpdatedAt";
        /// The time in milliseconds, from its creation on, for which the task is kept; `None` stands for no end.
        required ttl_ms: Option<i64> = "ttlMs";
        /// The time in milliseconds to wait between two polls.
        optional poll_interval_ms: i64 = "pollIntervalMs" => with_poll_interval_ms;
        /// The questions that the server needs answered, while the status is `input_required`.
        optional input_requests: InputRequests = "inputRequests" => with_input_requests;
        /// The result of the request that became the task, once it is `completed`.
        optional result: RawJson = "result" => with_result;
        /// The JSON-RPC error of the request that became the task, once it is `failed`.
        optional error: RawJson = "error" => with_error;
    }

    /// The params of `tasks/get`.
    pub struct GetExtensionTaskParams with meta {
        /// The id of the task.
        required task_id: String = "taskId";
    }

    /// The params of `tasks/update`.
    pub struct UpdateTaskParams with meta {
        /// The id of the task.
        required task_id: String = "taskId";
        /// Answers to some or all of the task's input requests.
        required input_responses: InputResponses = "inputResponses";
    }

    /// The params of `tasks/cancel`.
    pub struct CancelExtensionTaskParams with meta {
        /// The id of the task.
        required task_id: String = "taskId";
    }
}
