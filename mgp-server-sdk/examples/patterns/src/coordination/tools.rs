//! The tools of the coordinator: their arguments and results.

use std::collections::BTreeSet;
use std::time::Duration;

use mgp_server_sdk::{Cx, Json, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::agent::{Agent, AgentType, NewAgent};
use super::caller::Caller;
use super::collecting::{CollectedResults, WaitStrategy};
use super::coordinator::Coordinator;
use super::refusal::Refusal;
use super::task::{NewTask, Priority, Task, TaskStatus};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DelegateTask {
    /// What is to be done, in words that the agent understands without knowing more.
    #[schemars(length(min = 1, max = 65_536))]
    task: String,
    /// The one agent that may do it, by the name that `query_agents` gives it; any that is capable if left out.
    target_agent: Option<String>,
    /// What an agent has to be capable of.
    #[serde(default)]
    #[schemars(length(max = 64))]
    required_capabilities: Vec<String>,
    /// How long the task may take, from now until it is completed.
    #[serde(default = "default_task_timeout")]
    #[schemars(range(min = 1, max = 86_400_000))]
    timeout_ms: u64,
    /// How urgent the task is.
    #[serde(default)]
    priority: Priority,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DelegatedTask {
    /// The id by which `collect_results` finds the task. Who knows it may read the result.
    task_id: String,
    status: TaskStatus,
    /// How many agents are alive that may be given the task. With none, it waits for one.
    eligible_agents: usize,
}

pub(super) async fn delegate_task(asked: DelegateTask, cx: Cx) -> Result<Json<DelegatedTask>, ToolError> {
    let caller = Caller::of(&cx);
    let new = NewTask {
        text: asked.task,
        target: None,
        required: asked.required_capabilities.into_iter().collect(),
        timeout: Duration::from_millis(asked.timeout_ms),
        priority: asked.priority,
    };
    let task = cx.state::<Coordinator>()?.on_board(|board, now| {
        let own = |name: String| Some(caller.registers(&name)).filter(|own| board.knows(own)).unwrap_or(name);
        let target = asked.target_agent.map(own);
        board.delegate(now, NewTask { target, ..new })
    })?;
    Ok(Json(DelegatedTask { task_id: task.id, status: TaskStatus::Queued, eligible_agents: task.eligible }))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryAgents {
    /// Which agents are wanted; all that are alive if left out.
    #[serde(default)]
    filter: AgentFilter,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentFilter {
    /// What the agents have to be capable of.
    #[serde(default)]
    #[schemars(length(max = 64))]
    capabilities: Vec<String>,
    #[serde(default)]
    status: StatusFilter,
    #[serde(default, rename = "type")]
    kind: TypeFilter,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StatusFilter {
    /// Agents that are alive.
    #[default]
    Enabled,
    /// Agents that were lost.
    Disabled,
    All,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TypeFilter {
    Ai,
    Container,
    #[default]
    All,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FoundAgents {
    agents: Vec<FoundAgent>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundAgent {
    agent_id: String,
    #[serde(rename = "type")]
    kind: AgentType,
    capabilities: BTreeSet<String>,
    status: AgentStatus,
    /// True if the agent works on a task.
    busy: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AgentStatus {
    /// The agent is alive.
    Enabled,
    /// The agent was lost.
    Disabled,
}

pub(super) async fn query_agents(asked: QueryAgents, cx: Cx) -> Result<Json<FoundAgents>, ToolError> {
    let caller = Caller::of(&cx);
    let AgentFilter { capabilities, status, kind } = asked.filter;
    let required: BTreeSet<String> = capabilities.into_iter().collect();
    let is_wanted = |agent: &&Agent| {
        let has_status = match status {
            StatusFilter::Enabled => agent.is_enabled,
            StatusFilter::Disabled => !agent.is_enabled,
            StatusFilter::All => true,
        };
        let has_type = match kind {
            TypeFilter::Ai => agent.new.kind == AgentType::Ai,
            TypeFilter::Container => agent.new.kind == AgentType::Container,
            TypeFilter::All => true,
        };
        has_status && has_type && agent.may_do(None, &required)
    };
    let agents = cx.state::<Coordinator>()?.on_board(|board, now| {
        board.agents(now).filter(is_wanted).map(|agent| FoundAgent::of(agent, &caller)).collect()
    });
    Ok(Json(FoundAgents { agents }))
}

impl FoundAgent {
    fn of(agent: &Agent, caller: &Caller) -> Self {
        Self {
            agent_id: caller.shown(&agent.new.id).to_owned(),
            kind: agent.new.kind,
            capabilities: agent.new.capabilities.clone(),
            status: if agent.is_enabled { AgentStatus::Enabled } else { AgentStatus::Disabled },
            busy: agent.task.is_some(),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CollectResults {
    /// The ids that `delegate_task` returned.
    #[schemars(length(min = 1, max = 256))]
    task_ids: Vec<String>,
    /// How many results are waited for.
    #[serde(default)]
    wait_strategy: WaitStrategy,
    /// How long is waited; then what is there is returned.
    #[serde(default = "default_collect_timeout")]
    #[schemars(range(max = 240_000))]
    timeout_ms: u64,
}

pub(super) async fn collect_results(
    asked: CollectResults,
    cx: Cx,
) -> Result<Json<CollectedResults>, ToolError> {
    let CollectResults { task_ids, wait_strategy, timeout_ms } = asked;
    let (coordinator, caller) = (cx.state::<Coordinator>()?, Caller::of(&cx));
    let waited = coordinator.wait_for(Duration::from_millis(timeout_ms), |board, now, _| {
        let collected = CollectedResults::of(board, now, &task_ids, wait_strategy);
        Ok(collected.is_final(wait_strategy).then_some(collected))
    });
    let collected = match waited.await? {
        Some(collected) => collected,
        None => coordinator.on_board(|board, now| CollectedResults::of(board, now, &task_ids, wait_strategy)),
    };
    Ok(Json(collected.shown_to(&caller)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RegisterAgent {
    /// The name of the agent: letters, digits, `.`, `_` and `-`. For other agents of the kernel your own name stands in
    /// front of it.
    #[schemars(regex(pattern = "^[A-Za-z0-9._-]{1,64}$"))]
    agent_id: String,
    /// What the agent is.
    #[serde(default, rename = "type")]
    kind: AgentType,
    /// What the agent is capable of, in words that those who delegate use, too.
    #[serde(default)]
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    capabilities: Vec<String>,
    /// How long the agent may be silent before it counts as lost and its task is given to another.
    #[serde(default = "default_silence")]
    #[schemars(range(min = 1_000, max = 3_600_000))]
    silence_ms: u64,
    /// The token of an earlier registration, to register anew while that is alive.
    agent_token: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RegisteredAgent {
    agent_id: String,
    /// What the agent brings with each later call, and shows to nobody else.
    agent_token: String,
    silence_ms: u64,
}

pub(super) async fn register_agent(asked: RegisterAgent, cx: Cx) -> Result<Json<RegisteredAgent>, ToolError> {
    let new = NewAgent {
        id: Caller::of(&cx).registers(&asked.agent_id),
        kind: asked.kind,
        capabilities: asked.capabilities.into_iter().collect(),
        silence: Duration::from_millis(asked.silence_ms),
    };
    let known = asked.agent_token;
    let token =
        cx.state::<Coordinator>()?.on_board(|board, now| board.register(now, new, known.as_deref()))?;
    Ok(Json(RegisteredAgent {
        agent_id: asked.agent_id,
        agent_token: token.into_text(),
        silence_ms: asked.silence_ms,
    }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NextTask {
    /// The token that `register_agent` returned.
    agent_token: String,
    /// How long is waited for a task if there is none.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    wait_ms: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GivenTask {
    /// The task to work on; null if there is none now.
    task: Option<TaskInHand>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TaskInHand {
    task_id: String,
    /// What is to be done.
    task: String,
    priority: Priority,
    required_capabilities: BTreeSet<String>,
    /// How long the task may still take.
    remaining_ms: u64,
}

impl TaskInHand {
    fn of(task: &Task, now: Instant) -> Self {
        let remaining = task.deadline.saturating_duration_since(now).as_millis();
        Self {
            task_id: task.id.clone(),
            task: task.new.text.clone(),
            priority: task.new.priority,
            required_capabilities: task.new.required.clone(),
            remaining_ms: u64::try_from(remaining).unwrap_or(u64::MAX),
        }
    }
}

pub(super) async fn next_task(asked: NextTask, cx: Cx) -> Result<Json<GivenTask>, ToolError> {
    let NextTask { agent_token, wait_ms } = asked;
    let coordinator = cx.state::<Coordinator>()?;
    let given = coordinator.wait_for(Duration::from_millis(wait_ms), |board, now, waits| {
        let task = board.next_task(now, &agent_token, waits)?;
        Ok(task.map(|task| TaskInHand::of(task, now)))
    });
    Ok(Json(GivenTask { task: given.await? }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompleteTask {
    /// The token that `register_agent` returned.
    agent_token: String,
    /// The task that `next_task` gave.
    task_id: String,
    /// What came out.
    #[schemars(length(max = 262_144))]
    result: Option<String>,
    /// Why nothing came out, in place of `result`.
    #[schemars(length(max = 4_096))]
    error: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CompletedTask {
    task_id: String,
    status: TaskStatus,
}

pub(super) async fn complete_task(asked: CompleteTask, cx: Cx) -> Result<Json<CompletedTask>, ToolError> {
    let CompleteTask { agent_token, task_id, result, error } = asked;
    let (status, outcome) = match (result, error) {
        (Some(result), None) => (TaskStatus::Done, Ok(result)),
        (None, Some(error)) => (TaskStatus::Failed, Err(error)),
        _ => return Err(Refusal::Invalid("bring either `result` or `error`".into()).into()),
    };
    cx.state::<Coordinator>()?.on_board(|board, now| board.complete(now, &agent_token, &task_id, outcome))?;
    Ok(Json(CompletedTask { task_id, status }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OfAgent {
    /// The token that `register_agent` returned.
    agent_token: String,
}

pub(super) async fn keep_alive(OfAgent { agent_token }: OfAgent, cx: Cx) -> Result<&'static str, ToolError> {
    cx.state::<Coordinator>()?.on_board(|board, now| board.caller(now, &agent_token, Duration::ZERO))?;
    Ok("noted")
}

pub(super) async fn unregister_agent(
    OfAgent { agent_token }: OfAgent,
    cx: Cx,
) -> Result<&'static str, ToolError> {
    cx.state::<Coordinator>()?.on_board(|board, now| board.unregister(now, &agent_token))?;
    Ok("forgotten")
}

const fn default_task_timeout() -> u64 {
    300_000
}

const fn default_collect_timeout() -> u64 {
    30_000
}

const fn default_silence() -> u64 {
    120_000
}
