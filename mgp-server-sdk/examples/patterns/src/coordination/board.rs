//! The board: agents, tasks, and the rules by which tasks go to agents. Time is passed in; nothing here waits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use mgp_types::random_name;
use tokio::time::Instant;

use super::agent::{Agent, AgentToken, NewAgent, TokenDigest};
use super::refusal::Refusal;
use super::task::{NewTask, Priority, Task, TaskEnd, TaskState};

/// The agents and tasks of a coordinator.
#[derive(Debug, Default)]
pub(super) struct Board {
    agents: BTreeMap<String, Agent>,
    tokens: BTreeMap<TokenDigest, String>,
    /// The tasks by their numbers, which grow.
    tasks: BTreeMap<u64, Task>,
    ids: HashMap<String, u64>,
    /// The tasks that wait for an agent, the next one first.
    queue: BTreeSet<(Reverse<Priority>, u64)>,
    /// The tasks that have ended, the earliest first.
    ended: VecDeque<u64>,
    last_number: u64,
    /// The bytes of all tasks and results.
    bytes: usize,
    /// The earliest time at which something ends by itself.
    wake_at: Option<Instant>,
    /// Grows with each change that somebody may wait for.
    version: u64,
}

/// A task that was delegated.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delegated {
    pub(super) id: String,
    /// The number of agents that may be given the task and are alive.
    pub(super) eligible: usize,
}

impl Board {
    /// Registers an agent, or registers it anew if it has gone silent or proves by its token that it is the same.
    pub(super) fn register(
        &mut self,
        now: Instant,
        new: NewAgent,
        token: Option<&str>,
    ) -> Result<AgentToken, Refusal> {
        self.settle(now);
        match self.agents.get(&new.id) {
            Some(known) if known.is_enabled && token.map(TokenDigest::of) != Some(known.token) => {
                return Err(Refusal::NameTaken(new.id));
            }
            None if self.agents.len() >= MAX_AGENTS => self.forget_a_lost_agent(now)?,
            _ => {}
        }
        let token = AgentToken::new();
        let digest = token.digest();
        // An agent that registers anew still has the task that it worked on.
        let task = self.agents.remove(&new.id).and_then(|known| {
            self.tokens.remove(&known.token);
            known.task
        });
        let (id, alive_until) = (new.id.clone(), now + new.silence);
        self.tokens.insert(digest, id.clone());
        self.agents.insert(id, Agent { new, token: digest, alive_until, is_enabled: true, task });
        self.wake_no_later_than(alive_until);
        Ok(token)
    }

    /// Forgets the agent with this token; its task goes back to the queue.
    pub(super) fn unregister(&mut self, now: Instant, token: &str) -> Result<(), Refusal> {
        let id = self.caller(now, token, Duration::ZERO)?;
        self.forget_agent(now, &id);
        Ok(())
    }

    /// Notes that the agent with this token is alive, and returns its id.
    pub(super) fn caller(&mut self, now: Instant, token: &str, waits: Duration) -> Result<String, Refusal> {
        let id = self.tokens.get(&TokenDigest::of(token)).ok_or(Refusal::UnknownToken)?;
        if let Some(agent) = self.agents.get_mut(id) {
            agent.is_alive(now, waits);
            let (id, until) = (id.clone(), agent.alive_until);
            self.wake_no_later_than(until);
            self.settle(now);
            return Ok(id);
        }
        Err(Refusal::UnknownToken)
    }

    /// Puts a task into the queue.
    pub(super) fn delegate(&mut self, now: Instant, new: NewTask) -> Result<Delegated, Refusal> {
        self.settle(now);
        if let Some(target) = &new.target {
            let agent = self.agents.get(target).ok_or_else(|| Refusal::UnknownAgent(target.clone()))?;
            if !agent.may_do(None, &new.required) {
                return Err(Refusal::Incapable(target.clone()));
            }
        }
        if self.tasks.len() - self.ended.len() >= MAX_TASKS {
            return Err(Refusal::TooManyTasks);
        }
        self.make_room(new.text.len());
        if self.bytes + new.text.len() > MAX_BYTES {
            return Err(Refusal::TooManyTasks);
        }
        let eligible =
            |agent: &&Agent| agent.is_enabled && agent.may_do(new.target.as_deref(), &new.required);
        let eligible = self.agents.values().filter(eligible).count();
        let id = format!("task-{}", random_name());
        self.last_number += 1;
        let number = self.last_number;
        let deadline = now + new.timeout;
        self.wake_no_later_than(deadline);
        self.bytes += new.text.len();
        self.enqueue(number, new.priority);
        self.ids.insert(id.clone(), number);
        let task = Task { id: id.clone(), new, deadline, state: TaskState::Queued, lost: Vec::new() };
        self.tasks.insert(number, task);
        Ok(Delegated { id, eligible })
    }

    /// Returns the task that the agent with this token works on; if there is none, gives it the next one.
    pub(super) fn next_task(
        &mut self,
        now: Instant,
        token: &str,
        waits: Duration,
    ) -> Result<Option<&Task>, Refusal> {
        let id = self.caller(now, token, waits)?;
        let Some(agent) = self.agents.get_mut(&id) else { return Err(Refusal::UnknownToken) };
        let is_for = |task: &Task| agent.may_do(task.new.target.as_deref(), &task.new.required);
        let mut waiting = self.queue.iter().map(|(_, number)| *number);
        let first = || waiting.find(|number| self.tasks.get(number).is_some_and(is_for));
        let Some(number) = agent.task.or_else(first) else { return Ok(None) };
        agent.task = Some(number);
        let Some(task) = self.tasks.get_mut(&number) else { return Ok(None) };
        self.queue.remove(&(Reverse(task.new.priority), number));
        task.state = TaskState::Working { agent: id };
        Ok(Some(task))
    }

    /// Ends the task that the agent with this token works on.
    pub(super) fn complete(
        &mut self,
        now: Instant,
        token: &str,
        task: &str,
        outcome: Result<String, String>,
    ) -> Result<(), Refusal> {
        let agent = self.caller(now, token, Duration::ZERO)?;
        let number = self.ids.get(task).copied().filter(|number| {
            matches!(self.tasks.get(number).map(|task| &task.state),
                Some(TaskState::Working { agent: worker }) if *worker == agent)
        });
        let number = number.ok_or_else(|| Refusal::NotYours(task.to_owned()))?;
        self.end(number, TaskEnd { agent: Some(agent), outcome, at: now });
        Ok(())
    }

    /// Returns the agents in the order of their ids.
    pub(super) fn agents(&mut self, now: Instant) -> impl Iterator<Item = &Agent> {
        self.settle(now);
        self.agents.values()
    }

    /// Returns whether there is an agent of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.agents.contains_key(name)
    }

    /// Returns the tasks with these ids; `None` for those that there are not.
    pub(super) fn tasks<'b>(
        &'b mut self,
        now: Instant,
        ids: &'b [String],
    ) -> impl Iterator<Item = (&'b str, Option<&'b Task>)> {
        self.settle(now);
        ids.iter().map(|id| (id.as_str(), self.ids.get(id).and_then(|number| self.tasks.get(number))))
    }

    /// Returns a number that grows with each change that somebody may wait for.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Returns the earliest time at which something may end by itself: a task that takes too long, or an agent that is
    /// silent.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.wake_at
    }

    /// Ends what has taken too long, gives back the tasks of agents that are lost, and forgets old results.
    fn settle(&mut self, now: Instant) {
        if self.wake_at.is_none_or(|wake_at| now < wake_at) {
            return;
        }
        let late: Vec<u64> = self
            .tasks
            .iter()
            .filter(|(_, task)| !matches!(task.state, TaskState::Ended(_)) && task.deadline <= now)
            .map(|(number, _)| *number)
            .collect();
        for number in late {
            self.time_out(now, number);
        }
        let is_lost = |agent: &Agent| agent.is_enabled && agent.alive_until <= now;
        let lost: Vec<String> =
            self.agents.values().filter(|agent| is_lost(agent)).map(|agent| agent.new.id.clone()).collect();
        for id in lost {
            self.lose(now, &id);
        }
        while let Some(first) = self.ended.front().copied()
            && self.ended_at(first).is_none_or(|at| at + RESULT_KEPT <= now)
        {
            self.forget_task(first);
        }
        self.wake_at = self.next_change();
    }

    fn next_change(&self) -> Option<Instant> {
        let open = self.tasks.values().filter(|task| !matches!(task.state, TaskState::Ended(_)));
        let deadlines = open.map(|task| task.deadline);
        let silences = self.agents.values().filter(|agent| agent.is_enabled).map(|agent| agent.alive_until);
        let oldest = self.ended.front().and_then(|first| self.ended_at(*first)).map(|at| at + RESULT_KEPT);
        deadlines.chain(silences).chain(oldest).min()
    }

    fn wake_no_later_than(&mut self, at: Instant) {
        if self.wake_at.is_none_or(|wake_at| at < wake_at) {
            self.wake_at = Some(at);
            self.version += 1;
        }
    }

    fn enqueue(&mut self, number: u64, priority: Priority) {
        self.queue.insert((Reverse(priority), number));
        self.version += 1;
    }

    fn time_out(&mut self, now: Instant, number: u64) {
        let Some(task) = self.tasks.get(&number) else { return };
        let millis = task.new.timeout.as_millis();
        let (agent, error) = match &task.state {
            TaskState::Working { agent } => {
                (Some(agent.clone()), format!("timed out after {millis} ms: `{agent}` had not completed it"))
            }
            _ => (None, format!("timed out after {millis} ms: no agent that may do it asked for a task")),
        };
        self.end(number, TaskEnd { agent, outcome: Err(error), at: now });
    }

    /// Disables an agent that is silent, and takes its task away from it.
    fn lose(&mut self, now: Instant, id: &str) {
        let Some(agent) = self.agents.get_mut(id) else { return };
        agent.is_enabled = false;
        if let Some(number) = agent.task.take() {
            self.give_back(now, number, id);
        }
    }

    /// Puts the task of an agent that is gone back into the queue, or ends it if that makes no sense any more.
    fn give_back(&mut self, now: Instant, number: u64, agent: &str) {
        let Some(task) = self.tasks.get_mut(&number) else { return };
        task.lost.push(agent.to_owned());
        let error = if task.new.target.is_some() {
            format!("`{agent}`, the only agent that may do it, was lost or left while it worked on it")
        } else if task.lost.len() >= MAX_LOST {
            format!("the agents {} were lost or left while they worked on it", task.lost.join(", "))
        } else {
            task.state = TaskState::Queued;
            let priority = task.new.priority;
            return self.enqueue(number, priority);
        };
        self.end(number, TaskEnd { agent: Some(agent.to_owned()), outcome: Err(error), at: now });
    }

    /// Ends a task. Older results make room for its own.
    fn end(&mut self, number: u64, end: TaskEnd) {
        let (Ok(text) | Err(text)) = &end.outcome;
        self.make_room(text.len());
        self.bytes += text.len();
        let Some(task) = self.tasks.get_mut(&number) else { return };
        self.queue.remove(&(Reverse(task.new.priority), number));
        if let TaskState::Working { agent } = &task.state
            && let Some(agent) = self.agents.get_mut(agent)
            && agent.task == Some(number)
        {
            agent.task = None;
        }
        let forgotten_at = end.at + RESULT_KEPT;
        task.state = TaskState::Ended(end);
        self.ended.push_back(number);
        self.version += 1;
        if self.ended.len() > MAX_ENDED
            && let Some(first) = self.ended.front().copied()
        {
            self.forget_task(first);
        }
        self.wake_no_later_than(forgotten_at);
    }

    /// Forgets the oldest results until there is room for so many bytes, or none is left.
    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > MAX_BYTES
            && let Some(first) = self.ended.front().copied()
        {
            self.forget_task(first);
        }
    }

    fn ended_at(&self, number: u64) -> Option<Instant> {
        match &self.tasks.get(&number)?.state {
            TaskState::Ended(end) => Some(end.at),
            _ => None,
        }
    }

    /// Forgets the task that ended first.
    fn forget_task(&mut self, number: u64) {
        self.ended.pop_front();
        if let Some(task) = self.tasks.remove(&number) {
            self.bytes -= task.bytes();
            self.ids.remove(&task.id);
        }
    }

    fn forget_agent(&mut self, now: Instant, id: &str) {
        let Some(agent) = self.agents.remove(id) else { return };
        self.tokens.remove(&agent.token);
        if let Some(number) = agent.task {
            self.give_back(now, number, id);
        }
    }

    /// Forgets the agent that was lost first.
    fn forget_a_lost_agent(&mut self, now: Instant) -> Result<(), Refusal> {
        let lost = self.agents.values().filter(|agent| !agent.is_enabled);
        let first = lost.min_by_key(|agent| agent.alive_until).map(|agent| agent.new.id.clone());
        let first = first.ok_or(Refusal::TooManyAgents)?;
        self.forget_agent(now, &first);
        Ok(())
    }
}

/// How many agents are known at once; a lost one makes room for a new one.
pub(super) const MAX_AGENTS: usize = 1_000;
/// How many tasks may wait or be worked on at once.
pub(super) const MAX_TASKS: usize = 10_000;
/// How many tasks that have ended are kept.
pub(super) const MAX_ENDED: usize = 10_000;
/// The bytes that all tasks and results take together.
pub(super) const MAX_BYTES: usize = 64 << 20;
/// How long the result of a task is kept.
pub(super) const RESULT_KEPT: Duration = Duration::from_hours(1);
/// How many agents may be lost over a task before it is given to no other.
pub(super) const MAX_LOST: usize = 3;
