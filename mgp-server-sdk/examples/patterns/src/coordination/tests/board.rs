//! The rules of the board, with a time of their own.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::super::agent::{AgentType, NewAgent};
use super::super::board::{Board, MAX_AGENTS, MAX_BYTES, MAX_ENDED, MAX_LOST, MAX_TASKS};
use super::super::refusal::Refusal;
use super::super::task::{NewTask, Priority, Task, TaskEnd, TaskState, TaskStatus};

const SILENCE: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(100);
const A_MOMENT: Duration = Duration::from_millis(1);
const AT_ONCE: Duration = Duration::ZERO;

fn agent(id: &str, capabilities: &[&str]) -> NewAgent {
    NewAgent { id: id.into(), kind: AgentType::Ai, capabilities: words(capabilities), silence: SILENCE }
}

fn task(text: &str) -> NewTask {
    NewTask {
        text: text.into(),
        target: None,
        required: BTreeSet::new(),
        timeout: TIMEOUT,
        priority: Priority::Normal,
    }
}

fn words(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A board, and a clock that only the test moves.
struct Fixture {
    board: Board,
    now: Instant,
}

impl Fixture {
    fn new() -> Self {
        Self { board: Board::default(), now: Instant::now() }
    }

    fn register(&mut self, new: NewAgent) -> String {
        self.board.register(self.now, new, None).unwrap().into_text()
    }

    fn delegate(&mut self, new: NewTask) -> String {
        self.board.delegate(self.now, new).unwrap().id
    }

    /// Returns the text of the task that the agent is given.
    fn next(&mut self, token: &str) -> Option<String> {
        let task = self.board.next_task(self.now, token, AT_ONCE).unwrap();
        task.map(|task| task.new.text.clone())
    }

    fn complete(&mut self, token: &str, task: &str, result: &str) -> Result<(), Refusal> {
        self.board.complete(self.now, token, task, Ok(result.to_owned()))
    }

    fn status(&mut self, task: &str) -> TaskStatus {
        let ids = [task.to_owned()];
        let (_, task) = self.board.tasks(self.now, &ids).next().unwrap();
        task.map_or(TaskStatus::Unknown, Task::status)
    }

    /// Returns why a task has failed.
    fn error(&mut self, task: &str) -> String {
        let ids = [task.to_owned()];
        let (_, task) = self.board.tasks(self.now, &ids).next().unwrap();
        match &task.unwrap().state {
            TaskState::Ended(TaskEnd { outcome: Err(error), .. }) => error.clone(),
            other => panic!("it has not failed: {other:?}"),
        }
    }

    fn enabled(&mut self) -> Vec<String> {
        let agents = self.board.agents(self.now).filter(|agent| agent.is_enabled);
        agents.map(|agent| agent.new.id.clone()).collect()
    }
}

// covers: P-1-05
#[test]
fn a_task_goes_to_an_agent_that_may_do_it() {
    let mut on = Fixture::new();
    let translator = on.register(agent("translator", &["french", "german"]));
    let coder = on.register(agent("coder", &["rust"]));
    let french = NewTask { required: words(&["french"]), ..task("translate") };
    assert_eq!(on.board.delegate(on.now, french).unwrap().eligible, 1);
    let targeted = NewTask { target: Some("coder".into()), ..task("review") };
    assert_eq!(on.board.delegate(on.now, targeted).unwrap().eligible, 1);
    assert_eq!(on.next(&coder).as_deref(), Some("review"));
    assert_eq!(on.next(&translator).as_deref(), Some("translate"));
    let nobody = NewTask { target: Some("nobody".into()), ..task("x") };
    assert!(matches!(on.board.delegate(on.now, nobody), Err(Refusal::UnknownAgent(_))));
    let incapable = NewTask { target: Some("coder".into()), required: words(&["french"]), ..task("x") };
    assert!(matches!(on.board.delegate(on.now, incapable), Err(Refusal::Incapable(_))));
    let unheard_of = NewTask { required: words(&["alchemy"]), ..task("gold") };
    assert_eq!(on.board.delegate(on.now, unheard_of).unwrap().eligible, 0);
}

// covers: P-1-08
#[test]
fn a_task_that_takes_too_long_ends_and_says_so() {
    let mut on = Fixture::new();
    let token = on.register(NewAgent { silence: 10 * TIMEOUT, ..agent("slow", &[]) });
    let worked_on = on.delegate(task("one"));
    on.next(&token).unwrap();
    let waiting = on.delegate(task("two"));
    on.now += TIMEOUT.saturating_sub(A_MOMENT);
    assert_eq!((on.status(&worked_on), on.status(&waiting)), (TaskStatus::Working, TaskStatus::Queued));
    on.now += A_MOMENT;
    assert_eq!(on.error(&worked_on), "timed out after 100000 ms: `slow` had not completed it");
    assert!(on.error(&waiting).contains("no agent that may do it asked"), "{}", on.error(&waiting));
    let late = on.complete(&token, &worked_on, "late").unwrap_err();
    assert!(late.to_string().contains("it has ended, took too long"), "{late}");
    let next = on.delegate(task("three"));
    assert_eq!(on.next(&token).as_deref(), Some("three"));
    on.complete(&token, &next, "in time").unwrap();
}

// covers: P-1-09
#[test]
fn the_task_of_a_lost_agent_is_given_to_another_until_too_many_were_lost() {
    let mut on = Fixture::new();
    let id = on.delegate(task("perilous"));
    for number in 1..=MAX_LOST {
        let token = on.register(agent(&format!("a{number}"), &[]));
        assert_eq!(on.next(&token).as_deref(), Some("perilous"));
        on.now += SILENCE;
        assert_eq!(on.enabled(), Vec::<String>::new());
        let last = number == MAX_LOST;
        assert_eq!(on.status(&id), if last { TaskStatus::Failed } else { TaskStatus::Queued });
    }
    assert_eq!(on.error(&id), "the agents a1, a2, a3 were lost or left while they worked on it");
}

#[test]
fn a_task_for_one_agent_ends_with_it() {
    let mut on = Fixture::new();
    let token = on.register(agent("only", &[]));
    let id = on.delegate(NewTask { target: Some("only".into()), ..task("one") });
    let waiting = on.delegate(NewTask { target: Some("only".into()), ..task("two") });
    on.next(&token).unwrap();
    on.now += SILENCE;
    assert!(on.error(&id).contains("`only`, the only agent that may do it, was lost"), "{}", on.error(&id));
    // The agent was not dead: it is heard of again, and what it had not begun still waits for it.
    assert!(on.complete(&token, &id, "late").is_err());
    assert_eq!(on.enabled(), ["only"]);
    assert_eq!(on.next(&token).as_deref(), Some("two"));
    on.complete(&token, &waiting, "done").unwrap();
}

#[test]
fn signs_of_life_and_waiting_keep_an_agent() {
    let mut on = Fixture::new();
    let token = on.register(agent("a", &[]));
    for _ in 0..5 {
        on.now += SILENCE.saturating_sub(A_MOMENT);
        on.board.caller(on.now, &token, AT_ONCE).unwrap();
    }
    on.board.next_task(on.now, &token, 3 * SILENCE).unwrap();
    on.now += 3 * SILENCE;
    assert_eq!(on.enabled(), ["a"]);
    on.now += SILENCE;
    assert_eq!(on.enabled(), Vec::<String>::new());
}

// covers: P-1-10
#[test]
fn nobody_takes_the_name_of_an_agent_that_is_alive_or_does_its_work() {
    let mut on = Fixture::new();
    let (one, other) = (on.register(agent("one", &[])), on.register(agent("other", &[])));
    let id = on.delegate(task("secret"));
    on.next(&one).unwrap();
    assert!(matches!(on.board.register(on.now, agent("one", &[]), None), Err(Refusal::NameTaken(_))));
    assert!(matches!(on.board.register(on.now, agent("one", &[]), Some(&other)), Err(Refusal::NameTaken(_))));
    assert!(matches!(on.complete(&other, &id, "forged"), Err(Refusal::NotYours(_))));
    assert!(matches!(on.complete("guessed", &id, "forged"), Err(Refusal::UnknownToken)));
    on.now += SILENCE;
    // The name of one that is lost is free, and its token is worth nothing then.
    let new = on.register(agent("one", &[]));
    assert!(matches!(on.board.caller(on.now, &one, AT_ONCE), Err(Refusal::UnknownToken)));
    assert_eq!(on.next(&new).as_deref(), Some("secret"));
}

#[test]
fn an_agent_that_leaves_gives_its_task_back() {
    let mut on = Fixture::new();
    let (one, other) = (on.register(agent("one", &[])), on.register(agent("other", &[])));
    on.delegate(task("work"));
    on.next(&one).unwrap();
    on.board.unregister(on.now, &one).unwrap();
    assert_eq!(on.enabled(), ["other"]);
    assert_eq!(on.next(&other).as_deref(), Some("work"));
}

// covers: P-1-11
#[test]
fn there_are_only_so_many_agents_and_a_lost_one_makes_room() {
    let mut on = Fixture::new();
    let first = on.register(agent("first", &[]));
    on.now += SILENCE / 2;
    for number in 1..MAX_AGENTS {
        on.register(agent(&format!("a{number}"), &[]));
    }
    assert!(matches!(on.board.register(on.now, agent("new", &[]), None), Err(Refusal::TooManyAgents)));
    on.now += SILENCE / 2;
    on.register(agent("new", &[]));
    assert!(matches!(on.board.caller(on.now, &first, AT_ONCE), Err(Refusal::UnknownToken)));
}

// covers: P-1-11
#[test]
fn there_are_only_so_many_tasks_and_results() {
    let mut on = Fixture::new();
    let token = on.register(NewAgent { silence: 10 * TIMEOUT, ..agent("a", &[]) });
    let mut ids = Vec::new();
    for _ in 0..=MAX_ENDED {
        let id = on.delegate(task("x"));
        on.next(&token).unwrap();
        on.complete(&token, &id, "y").unwrap();
        ids.push(id);
    }
    assert_eq!((on.status(&ids[0]), on.status(&ids[1])), (TaskStatus::Unknown, TaskStatus::Done));
    for _ in 0..MAX_TASKS {
        on.delegate(task("x"));
    }
    assert!(matches!(on.board.delegate(on.now, task("x")), Err(Refusal::TooManyTasks)));
}

// covers: P-1-11
#[test]
fn tasks_and_results_take_only_so_many_bytes() {
    let mut on = Fixture::new();
    let token = on.register(NewAgent { silence: 10 * TIMEOUT, ..agent("a", &[]) });
    let half = "x".repeat(MAX_BYTES / 2);
    let id = on.delegate(task("small"));
    on.next(&token).unwrap();
    on.complete(&token, &id, &half).unwrap();
    on.delegate(task(&half));
    // The oldest result made room, and nothing is left that could.
    assert_eq!(on.status(&id), TaskStatus::Unknown);
    assert!(matches!(
        on.board.delegate(on.now, task(&"x".repeat(half.len() + 1))),
        Err(Refusal::TooManyTasks)
    ));
    on.delegate(task(&half));
}
