//! The gate that keeps the tasks of callers apart that share one connection to a server.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use memchr::memmem::Finder;
use mgp_types::mcp::task::{TaskStatus, begun};
use mgp_types::mgp::Refusal;
use mgp_types::{Error, Flow, Gate, Object, Origin, Principal, RawJson, Request, Response, code};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::refusal::refusal;

/// A gate that lets only the caller that began a task ask about it, where many callers share one connection to a
/// server. Clones share their knowledge of tasks.
///
/// A server behind one connection cannot tell its callers apart, and gives each of them the tasks of all. So this
/// gate notes who began a task, refuses requests of others about it, and keeps only the caller's tasks in a list of
/// tasks. A task that is not known, because it began before this process or very long ago, belongs to nobody.
/// Notifications that the server sends about a task do not pass this gate: the code that forwards them has to look up
/// the owner.
///
/// The gate stands behind the access gate. It reads `context.principal` and fills `context.trail`. A refusal is 1001,
/// and the same whether the task exists or not. The result of each call is searched for one word; a lock is taken
/// only where a task is involved.
#[derive(Clone, Default)]
pub struct TaskOwnersGate(Arc<Mutex<TaskOwners>>);

/// The owners of the known tasks; bounded by [`MAX_TASKS`], the oldest is forgotten first.
#[derive(Default)]
struct TaskOwners {
    owners: HashMap<Arc<str>, Principal, foldhash::quality::RandomState>,
    begun: VecDeque<Arc<str>>,
    /// The tasks that are not known to have ended, each with the time until which it counts as running.
    open: HashMap<Arc<str>, Instant, foldhash::quality::RandomState>,
}

impl TaskOwnersGate {
    /// Returns whether no task is known.
    pub fn is_empty(&self) -> bool {
        self.0.lock().begun.is_empty()
    }

    /// Returns whether a known task is still running. A task whose end was never reported counts as running for a day
    /// at most.
    pub fn has_unfinished(&self) -> bool {
        let mut known = self.0.lock();
        let now = Instant::now();
        known.open.retain(|_, until| *until > now);
        !known.open.is_empty()
    }

    /// Returns whether the request is about a task that its sender began here.
    pub fn has_task_of(&self, request: &Request) -> bool {
        request.method.as_str().starts_with("tasks/") && self.owns_all(request, &named(request))
    }

    /// Forgets all tasks, for when the server that knew them has ended and its successor may reuse their ids.
    pub fn forget_all(&self) {
        *self.0.lock() = TaskOwners::default();
    }

    /// Takes note of a task's status that the server reported in a notification.
    pub fn hear(&self, status: &Object) {
        if has_ended(status)
            && let Some(task) = status.text("taskId")
        {
            self.0.lock().open.remove(&*task);
        }
    }
}

impl Gate for TaskOwnersGate {
    type Pass = Option<TaskAnswer>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let then = match request.method.as_str() {
            "tools/call" => TaskAnswerAction::Note,
            "tasks/list" => TaskAnswerAction::Filter,
            "subscriptions/listen" if !self.owns_all(request, &listened_to(request)) => {
                return refused(request);
            }
            name if name.starts_with("tasks/") && !self.owns_all(request, &named(request)) => {
                return refused(request);
            }
            "tasks/get" | "tasks/cancel" => TaskAnswerAction::Follow { is_over: false, task: named(request) },
            "tasks/result" => TaskAnswerAction::Follow { is_over: true, task: named(request) },
            _ => return Flow::Pass(None),
        };
        match request.context.principal.clone() {
            Some(principal) => Flow::Pass(Some(TaskAnswer { then, principal })),
            None if matches!(then, TaskAnswerAction::Note) => Flow::Pass(None),
            None => refused(request),
        }
    }

    fn leave(&self, pass: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let Some(watch) = pass {
            watch.look(&self.0, outcome);
        }
    }
}

impl TaskOwnersGate {
    fn owns_all(&self, request: &Request, tasks: &[Option<String>]) -> bool {
        let known = self.0.lock();
        tasks.iter().all(|task| {
            let owner = task.as_ref().and_then(|task| known.owners.get(&**task));
            owner.is_some() && owner == request.context.principal.as_ref()
        })
    }
}

/// Returns the task that a request names; a request that names none counts as being about a task that nobody owns.
fn named(request: &Request) -> [Option<String>; 1] {
    [request.params.text("taskId").map(std::borrow::Cow::into_owned)]
}

/// Returns the tasks that a subscription asks to hear about.
fn listened_to(request: &Request) -> Vec<Option<String>> {
    let wanted = request.params.object("notifications");
    match wanted.and_then(|wanted| wanted.get("taskIds")) {
        None => Vec::new(),
        Some(tasks) => match tasks.to::<Vec<String>>() {
            Ok(tasks) => tasks.into_iter().map(Some).collect(),
            Err(_) => vec![None],
        },
    }
}

fn refused<P>(request: &Request) -> Flow<P> {
    request.context.note_refusal(Refusal::new("access", "not-your-task"));
    Flow::refuse(refusal(code::ACCESS_DENIED, "there is no such task of yours"))
}

impl TaskOwners {
    /// Notes the owner of a task: the first principal to be told of it.
    fn note(&mut self, task: &str, principal: &Principal) {
        if let Some((task, owner)) = self.owners.get_key_value(task) {
            if owner == principal {
                self.open.insert(task.clone(), Instant::now() + LONGEST);
            }
            return;
        }
        if self.begun.len() >= MAX_TASKS
            && let Some(oldest) = self.begun.pop_front()
        {
            self.owners.remove(&oldest);
            self.open.remove(&oldest);
        }
        let task: Arc<str> = task.into();
        self.open.insert(task.clone(), Instant::now() + LONGEST);
        self.owners.insert(task.clone(), principal.clone());
        self.begun.push_back(task);
    }
}

/// The treatment of the answer to a request about tasks.
#[derive(Debug)]
enum TaskAnswerAction {
    Note,
    Filter,
    /// The answer reports on a task, or ends it: with `is_over`, any answer means that the task has ended.
    Follow {
        is_over: bool,
        task: [Option<String>; 1],
    },
}

/// The caller that an answer is for, and the treatment of the answer.
pub struct TaskAnswer {
    then: TaskAnswerAction,
    principal: Principal,
}

impl TaskAnswer {
    fn look(&self, known: &Mutex<TaskOwners>, outcome: &mut Result<Response, Error>) {
        match (&self.then, outcome) {
            (TaskAnswerAction::Note, Ok(response)) => {
                if let Some(task) = told_to_begin(&response.result) {
                    known.lock().note(&task, &self.principal);
                }
            }
            (TaskAnswerAction::Filter, outcome @ Ok(_)) => {
                if let Ok(response) = outcome
                    && let Err(error) = self.keep_own(known, response)
                {
                    *outcome = Err(error);
                }
            }
            (TaskAnswerAction::Note | TaskAnswerAction::Filter, Err(_)) => {}
            (TaskAnswerAction::Follow { is_over, task }, outcome) => {
                let has_ended = match outcome {
                    Ok(response) => {
                        *is_over || Object::from_raw(&response.result).is_ok_and(|task| has_ended(&task))
                    }
                    // The error is the outcome of the task, or the server no longer knows the task.
                    Err(error) => {
                        error.origin() == Origin::Peer && (*is_over || error.code() == code::INVALID_PARAMS)
                    }
                };
                if let Some(task) = task.iter().flatten().find(|_| has_ended) {
                    known.lock().open.remove(&**task);
                }
            }
        }
    }

    /// Removes the tasks of other callers from a list of tasks.
    fn keep_own(&self, known: &Mutex<TaskOwners>, response: &mut Response) -> Result<(), Error> {
        let malformed = || Error::misbehaved("the list of tasks is none");
        response.absorb_stamp();
        let mut result = Object::from_raw(&response.result).map_err(|_| malformed())?;
        let Some(tasks) = result.get("tasks") else { return Ok(()) };
        let mut tasks: Vec<Object> = tasks.to().map_err(|_| malformed())?;
        let known = known.lock();
        tasks.retain(|task| {
            task.text("taskId").and_then(|id| known.owners.get(&*id)) == Some(&self.principal)
        });
        drop(known);
        result.set("tasks", RawJson::from_value(&tasks).map_err(|_| malformed())?);
        response.result = result.to_raw().into();
        Ok(())
    }
}

mgp_types::partial_debug!(TaskOwnersGate, self => tasks: self.0.lock().begun.len());
mgp_types::partial_debug!(TaskAnswer, self => then: self.then);

/// Returns the task that a result reports to have begun. Most results report none, and are not parsed.
fn told_to_begin(result: &RawJson) -> Option<String> {
    WORD.find(result.as_bytes())?;
    begun(result)
}

fn has_ended(task: &Object) -> bool {
    TaskStatus::of_task(task).is_some_and(|status| status.is_terminal())
}

/// The member name by which a result that may begin a task is recognized.
static WORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""taskId""#));
/// The largest number of tasks that are known at a time.
const MAX_TASKS: usize = 65_536;
/// The longest time for which a task whose end was not reported counts as running.
const LONGEST: Duration = Duration::from_hours(24);
