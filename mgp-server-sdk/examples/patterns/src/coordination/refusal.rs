//! The reasons for which the coordinator refuses a call.

use super::board::{MAX_AGENTS, MAX_TASKS};

/// The reason for which a call is refused, for the model that made it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("an agent `{0}` is registered and alive: take another name, or bring its `agent_token`")]
    NameTaken(String),
    #[error("no agent has this `agent_token`: call `register_agent`, and bring the token that it returns")]
    UnknownToken,
    #[error("there is no agent `{0}`: `query_agents` lists those that there are")]
    UnknownAgent(String),
    #[error(
        "the agent `{0}` has not all of the `required_capabilities`: `query_agents` shows its capabilities"
    )]
    Incapable(String),
    #[error(
        "you do not work on the task `{0}`: it has ended, took too long, or went to another agent; `next_task` gives you \
         the next one"
    )]
    NotYours(String),
    #[error(
        "there are {MAX_TASKS} tasks, or as many bytes of them as there may be: come again when some are done"
    )]
    TooManyTasks,
    #[error("there are {MAX_AGENTS} agents: come again when one has left")]
    TooManyAgents,
    #[error("as many calls wait as may: come again in a moment, or call without waiting")]
    TooManyWaiting,
    #[error("{0}")]
    Invalid(String),
}
