//! The experimental tasks of the revision 2025-11-25.
//!
//! The extension of the stateless revisions has other tasks: see [`task_extension`](super::task_extension).

use super::body::body;
use super::union::open_enum;
use crate::{Object, RawJson};

open_enum! {
    /// The status of a task.
    pub enum TaskStatus {
        /// The task runs.
        Working = "working",
        /// The task waits for input.
        InputRequired = "input_required",
        /// The task is done.
        Completed = "completed",
        /// The task failed.
        Failed = "failed",
        /// The task was cancelled.
        Cancelled = "cancelled",
    }
}

/// Returns the id of the task that `result` began, in the form of either era.
pub fn begun(result: &RawJson) -> Option<String> {
    let result = Object::from_raw(result).ok()?;
    let of_session = result.object("task");
    let id = of_session.as_ref().unwrap_or(&result).text("taskId")?;
    Some(id.into_owned())
}

impl TaskStatus {
    /// Returns the status in a task's description, if the description has one.
    pub fn of_task(task: &Object) -> Option<Self> {
        task.get("status")?.to().ok()
    }

    /// Returns whether the task can no longer change.
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

body! {
    /// The wish to run a request as a task.
    pub struct TaskMetadata {
        /// The time in milliseconds for which the task should be kept.
        optional ttl: i64 = "ttl" => with_ttl;
    }

    /// The task that a message belongs to.
    pub struct RelatedTask {
        /// The id of the task.
        required task_id: String = "taskId";
    }

    /// A task; also the result of `tasks/get` and `tasks/cancel` and the params of
    /// `notifications/tasks/status`, where it may carry metadata.
    pub struct Task and meta => with_meta {
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
        required ttl: Option<i64> = "ttl";
        /// The time in milliseconds to wait between two polls.
        optional poll_interval: i64 = "pollInterval" => with_poll_interval;
    }

    /// The result of a request that runs as a task.
    pub struct CreateTaskResult and meta {
        /// The task.
        required task: Task = "task";
    }

    /// The params of `tasks/get`.
    pub struct GetTaskParams with meta {
        /// The id of the task.
        required task_id: String = "taskId";
    }

    /// The params of `tasks/result`, whose result is that of the request that became the task.
    pub struct GetTaskPayloadParams with meta {
        /// The id of the task.
        required task_id: String = "taskId";
    }

    /// The params of `tasks/cancel`.
    pub struct CancelTaskParams with meta {
        /// The id of the task.
        required task_id: String = "taskId";
    }

    /// The params of `tasks/list`.
    pub struct ListTasksParams with meta {
        /// The cursor of the wanted page; absent for the first one.
        optional cursor: String = "cursor";
    }

    /// The result of `tasks/list`.
    pub struct ListTasksResult and meta {
        /// The tasks of this page.
        required tasks: Vec<Task> = "tasks";
        /// The cursor of the next page; absent on the last one.
        optional next_cursor: String = "nextCursor";
    }
}
