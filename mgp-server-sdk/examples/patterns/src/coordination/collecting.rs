//! The results of several tasks, and when enough of them are there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::board::Board;
use super::caller::Caller;
use super::task::{Task, TaskEnd, TaskState, TaskStatus};

/// How many results are waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum WaitStrategy {
    /// All tasks end.
    #[default]
    All,
    /// One task has a result.
    Any,
    /// More than half of the tasks have results.
    Majority,
}

/// What there is of the results of several tasks.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct CollectedResults {
    /// True if as many results are there as the strategy waits for.
    pub(super) satisfied: bool,
    /// The tasks that have ended, in the order in which they were asked for.
    pub(super) results: Vec<CollectedResult>,
    /// The tasks that have not ended.
    pub(super) missing: Vec<MissingResult>,
    /// Tasks that have ended, but whose results are too long for this answer: collect them in another call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) too_long: Vec<String>,
}

/// A task that has ended.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct CollectedResult {
    pub(super) task_id: String,
    /// `done`, `failed`, or `unknown` if there is no such task or its result is no longer kept.
    pub(super) status: TaskStatus,
    /// The agent that worked on it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<String>,
    /// Why there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// A task that has not ended.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct MissingResult {
    pub(super) task_id: String,
    /// `queued` or `working`.
    pub(super) status: TaskStatus,
    /// The agent that works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent_id: Option<String>,
}

impl CollectedResults {
    /// Collects what there is of these tasks.
    pub(super) fn of(board: &mut Board, now: Instant, tasks: &[String], strategy: WaitStrategy) -> Self {
        let mut collected =
            Self { satisfied: false, results: Vec::new(), missing: Vec::new(), too_long: Vec::new() };
        let (mut done, mut bytes) = (0, 0);
        for (id, task) in board.tasks(now, tasks) {
            done += usize::from(task.is_some_and(|task| task.status() == TaskStatus::Done));
            bytes += task.map_or(0, Task::result_bytes);
            if bytes > MAX_BYTES && task.is_some_and(|task| task.result_bytes() > 0) {
                collected.too_long.push(id.to_owned());
            } else {
                collected.add(id, task);
            }
        }
        let all = tasks.len();
        collected.satisfied = match strategy {
            WaitStrategy::All => collected.missing.is_empty(),
            WaitStrategy::Any => done > 0,
            WaitStrategy::Majority => done > all / 2,
        };
        collected
    }

    /// Returns whether nothing is left to wait for: there are enough results, or there never will be.
    pub(super) fn is_final(&self, strategy: WaitStrategy) -> bool {
        let failed = self.results.iter().filter(|result| result.status != TaskStatus::Done).count();
        let (open, all) = (self.missing.len(), self.missing.len() + self.results.len() + self.too_long.len());
        self.satisfied || open == 0 || strategy == WaitStrategy::Majority && all - failed <= all / 2
    }

    /// Names the agents as `caller` does.
    pub(super) fn shown_to(mut self, caller: &Caller) -> Self {
        let done = self.results.iter_mut().map(|result| &mut result.agent_id);
        for agent in done.chain(self.missing.iter_mut().map(|missing| &mut missing.agent_id)).flatten() {
            *agent = caller.shown(agent).to_owned();
        }
        self
    }

    fn add(&mut self, id: &str, task: Option<&Task>) {
        let task_id = id.to_owned();
        let status = task.map_or(TaskStatus::Unknown, Task::status);
        match task.map(|task| &task.state) {
            Some(TaskState::Queued) => self.missing.push(MissingResult { task_id, status, agent_id: None }),
            Some(TaskState::Working { agent }) => {
                self.missing.push(MissingResult { task_id, status, agent_id: Some(agent.clone()) });
            }
            Some(TaskState::Ended(TaskEnd { agent, outcome, .. })) => self.results.push(CollectedResult {
                task_id,
                status,
                agent_id: agent.clone(),
                result: outcome.as_ref().ok().cloned(),
                error: outcome.as_ref().err().cloned(),
            }),
            None => self.results.push(CollectedResult {
                task_id,
                status,
                agent_id: None,
                result: None,
                error: Some("there is no such task, or its result is no longer kept".into()),
            }),
        }
    }
}

/// The bytes of the results in one answer. The longest result is shorter.
const MAX_BYTES: usize = 4 << 20;
