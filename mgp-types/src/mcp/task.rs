//! The experimental tasks of the revision 2025-11-25.
//!
//! They are not the tasks of the extension that follows them: see
//! [`task_extension`](super::task_extension).

use super::Meta;
use super::body::{body, builders};
use super::open_enum::open_enum;
use crate::{Object, RawJson};

open_enum! {
    /// How far a task has come.
    pub enum TaskStatus {
        /// It runs.
        Working = "working",
        /// It waits for input.
        InputRequired = "input_required",
        /// It is done.
        Completed = "completed",
        /// It went wrong.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

/// The id of the task that began in place of a result, as either era says it.
pub fn begun(result: &RawJson) -> Option<String> {
    let result = Object::from_raw(result).ok()?;
    let of_session = result.get("task").and_then(|task| Object::from_raw(&task).ok());
    let id = of_session.as_ref().unwrap_or(&result).text("taskId")?;
    Some(id.into_owned())
}

impl TaskStatus {
    /// What is said of a task, if it says how far that has come.
    pub fn told(task: &Object) -> Option<Self> {
        task.get("status")?.to().ok()
    }

    /// Whether the task can no longer change.
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

body! {
    /// The wish to run a request as a task.
    pub struct TaskMetadata {
        /// For how many milliseconds the task should be kept.
        optional ttl: i64 = "ttl";
    }
}

builders! {
    TaskMetadata {
        with_ttl: ttl: i64,
    }
}

body! {
    /// The task that a message belongs to.
    pub struct RelatedTask {
        /// The id of the task.
        required task_id: String = "taskId";
    }
}

body! {
    /// A task; also the result of `tasks/get` and `tasks/cancel` and the params of
    /// `notifications/tasks/status`, where it may carry metadata.
    pub struct Task {
        /// The id of the task.
        required task_id: String = "taskId";
        /// How far the task has come.
        required status: TaskStatus = "status";
        /// The same for people.
        optional status_message: String = "statusMessage";
        /// When the task was created, in ISO 8601.
        required created_at: String = "createdAt";
        /// When the task last changed, in ISO 8601.
        required last_updated_at: String = "lastUpdatedAt";
        /// For how many milliseconds from its creation the task is kept; without end if `None`.
        required ttl: Option<i64> = "ttl";
        /// How many milliseconds to wait between polls.
        optional poll_interval: i64 = "pollInterval";
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}

builders! {
    Task {
        with_status_message: status_message: String,
        with_poll_interval: poll_interval: i64,
        with_meta: meta: Meta,
    }
}

body! {
    /// The result of a request that runs as a task.
    pub struct CreateTaskResult {
        /// The task.
        required task: Task = "task";
        /// Metadata.
        optional meta: Meta = "_meta";
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
    /// The params of `tasks/result`, whose result is that of the request that became the task.
    pub struct GetTaskPayloadParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// The id of the task.
        required task_id: String = "taskId";
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

body! {
    /// The params of `tasks/list`.
    pub struct ListTasksParams {
        /// Metadata.
        optional meta: Meta = "_meta";
        /// Where to go on.
        optional cursor: String = "cursor";
    }
}

body! {
    /// The result of `tasks/list`.
    pub struct ListTasksResult {
        /// The tasks of this page.
        required tasks: Vec<Task> = "tasks";
        /// Where the next page starts; absent on the last one.
        optional next_cursor: String = "nextCursor";
        /// Metadata.
        optional meta: Meta = "_meta";
    }
}
