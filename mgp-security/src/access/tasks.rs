use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use memchr::memmem::Finder;
use mgp_types::mcp::task::{TaskStatus, begun};
use mgp_types::mgp::Refusal;
use mgp_types::{
    Error, Flow, Gate, Object, Origin, Principal, RawJson, Request, Response, ResultShape, code,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::refusal::refusal;

/// Keeps the tasks that a caller began to itself, where many share one way to a server. Clones share what they know.
///
/// A server behind one connection takes all of its callers for one, and gives each the tasks of all. So this notes
/// who began a task, lets nobody else ask about it, and leaves of a list of tasks those of the caller. A task that is
/// not known, because it began before this process or very long ago, is nobody's. What the server says of a task unasked
/// does not pass here: whoever hands out notifications has to look for its owner.
///
/// Sits behind access. Reads `context.principal`; fills `context.trail`. A refusal is 1001, and the same whether there
/// is such a task or not. The result of a call is searched for one word; only a task takes a lock.
#[derive(Clone, Default)]
pub struct TaskOwnersGate(Arc<Mutex<TaskOwners>>);

/// Who began which task; bounded by [`MAX_TASKS`], the oldest is forgotten first.
#[derive(Default)]
struct TaskOwners {
    owners: HashMap<Arc<str>, Principal, foldhash::quality::RandomState>,
    begun: VecDeque<Arc<str>>,
    /// Those of which it was not heard that they have ended, and until when they count as going on.
    open: HashMap<Arc<str>, Instant, foldhash::quality::RandomState>,
}

impl TaskOwnersGate {
    /// Returns a gate that knows of no task yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no task is known.
    pub fn is_empty(&self) -> bool {
        self.0.lock().begun.is_empty()
    }

    /// Whether a task goes on, as far as was heard; one that was never heard to end does so for a day at the most.
    pub fn has_unfinished(&self) -> bool {
        let mut known = self.0.lock();
        let now = Instant::now();
        known.open.retain(|_, until| *until > now);
        !known.open.is_empty()
    }

    /// Forgets all tasks: whoever knew them has ended, and whoever comes in its place may give their ids to others.
    pub fn forget_all(&self) {
        *self.0.lock() = TaskOwners::default();
    }

    /// Hears what the server says of a task unasked.
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

/// The task that a request is about; one that names none is about nobody's.
fn named(request: &Request) -> [Option<String>; 1] {
    [request.params.text("taskId").map(std::borrow::Cow::into_owned)]
}

/// The tasks of which a subscription wants to hear.
fn listened_to(request: &Request) -> Vec<Option<String>> {
    let wanted = request.params.get("notifications").and_then(|wanted| Object::from_raw(&wanted).ok());
    match wanted.and_then(|wanted| wanted.get("taskIds")) {
        None => Vec::new(),
        Some(tasks) => match tasks.to::<Vec<String>>() {
            Ok(tasks) => tasks.into_iter().map(Some).collect(),
            Err(_) => vec![None],
        },
    }
}

fn refused<P>(request: &Request) -> Flow<P> {
    if let Some(trail) = &request.context.trail {
        trail.note_refusal(Refusal::new("access", "not-your-task"));
    }
    Flow::refuse(refusal(code::ACCESS_DENIED, "there is no such task of yours"))
}

impl TaskOwners {
    /// The first who is told of a task has it.
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

/// What is done with the answer.
#[derive(Debug)]
enum TaskAnswerAction {
    Note,
    Filter,
    /// It tells how a task does, and that it `is_over` if there is one.
    Follow {
        is_over: bool,
        task: [Option<String>; 1],
    },
}

/// Whose answer it is, and what is done with it.
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
                    // The error is what came of it, or the server does not know it any more.
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

    /// Leaves of a list of tasks those of the caller.
    fn keep_own(&self, known: &Mutex<TaskOwners>, response: &mut Response) -> Result<(), Error> {
        let malformed = || Error::misbehaved("the list of tasks is none");
        if response.context.stamp.is_some() {
            response.result = response.to_raw();
            response.context.stamp = None;
            response.context.shape = ResultShape::Opaque;
        }
        let mut result = Object::from_raw(&response.result).map_err(|_| malformed())?;
        let Some(tasks) = result.get("tasks") else { return Ok(()) };
        let mut tasks: Vec<Object> = tasks.to().map_err(|_| malformed())?;
        let known = known.lock();
        tasks.retain(|task| {
            task.text("taskId").and_then(|id| known.owners.get(&*id)) == Some(&self.principal)
        });
        drop(known);
        result.set("tasks", RawJson::from_value(&tasks).map_err(|_| malformed())?);
        response.result = result.to_raw();
        Ok(())
    }
}

impl fmt::Debug for TaskOwnersGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskOwnersGate").field("tasks", &self.0.lock().begun.len()).finish()
    }
}

impl fmt::Debug for TaskAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskAnswer").field("then", &self.then).finish_non_exhaustive()
    }
}

/// The task that a result says to have begun; most results do not, and are not taken apart.
fn told_to_begin(result: &RawJson) -> Option<String> {
    WORD.find(result.as_bytes())?;
    begun(result)
}

fn has_ended(task: &Object) -> bool {
    TaskStatus::told(task).is_some_and(|status| status.is_terminal())
}

static WORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""taskId""#));
const MAX_TASKS: usize = 65_536;
const LONGEST: Duration = Duration::from_hours(24);
