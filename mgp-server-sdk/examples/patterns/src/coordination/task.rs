//! Tasks: what is to be done, by whom, and how far it is.

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// The urgency of a task. A task is given to an agent before all that are less urgent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Priority {
    /// Done when nothing else is left.
    Low,
    /// The usual priority.
    #[default]
    Normal,
    /// Done before what is usual.
    High,
    /// Done before everything else.
    Critical,
}

/// A task that is delegated.
#[derive(Debug, Clone)]
pub(super) struct NewTask {
    pub(super) text: String,
    /// The one agent that may do it; any if left out.
    pub(super) target: Option<String>,
    /// What an agent has to be capable of.
    pub(super) required: BTreeSet<String>,
    pub(super) timeout: Duration,
    pub(super) priority: Priority,
}

/// A delegated task.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) new: NewTask,
    pub(super) deadline: Instant,
    pub(super) state: TaskState,
    /// The agents that were lost while they worked on it.
    pub(super) lost: Vec<String>,
}

/// How far a task is.
#[derive(Debug)]
pub(super) enum TaskState {
    /// The task waits for an agent.
    Queued,
    /// An agent works on it.
    Working { agent: String },
    /// The task has ended.
    Ended(TaskEnd),
}

/// The end of a task.
#[derive(Debug, Clone)]
pub(super) struct TaskEnd {
    /// The agent that had it; `None` if none ever did.
    pub(super) agent: Option<String>,
    /// The result, or why there is none.
    pub(super) outcome: Result<String, String>,
    pub(super) at: Instant,
}

/// The word for how far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum TaskStatus {
    /// The task waits for an agent.
    Queued,
    /// An agent works on the task.
    Working,
    /// The task has a result.
    Done,
    /// The task has ended without a result.
    Failed,
    /// There is no such task, or no longer.
    Unknown,
}

impl Task {
    pub(super) fn status(&self) -> TaskStatus {
        match &self.state {
            TaskState::Queued => TaskStatus::Queued,
            TaskState::Working { .. } => TaskStatus::Working,
            TaskState::Ended(TaskEnd { outcome: Ok(_), .. }) => TaskStatus::Done,
            TaskState::Ended(TaskEnd { outcome: Err(_), .. }) => TaskStatus::Failed,
        }
    }

    /// Returns the bytes of the task and of its result.
    pub(super) fn bytes(&self) -> usize {
        self.new.text.len() + self.result_bytes()
    }

    /// Returns the bytes of the result, or of the error in its place.
    pub(super) fn result_bytes(&self) -> usize {
        match &self.state {
            TaskState::Ended(TaskEnd { outcome: Ok(text) | Err(text), .. }) => text.len(),
            _ => 0,
        }
    }
}
