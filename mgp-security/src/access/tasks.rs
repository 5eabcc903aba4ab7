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
    tasks: HashMap<Arc<str>, OwnedTask, foldhash::quality::RandomState>,
    begun: VecDeque<Arc<str>>,
}

struct OwnedTask {
    owner: Principal,
    /// The time until which the task counts as running; `None` once it is known to have ended.
    runs_until: Option<Instant>,
}

impl TaskOwnersGate {
    /// Returns whether no task is known.
    pub fn is_empty(&self) -> bool {
        self.0.lock().begun.is_empty()
    }

    /// Returns whether a known task is still running. A task whose end was never reported counts as running for a day
    /// at most.
    pub fn has_unfinished(&self) -> bool {
        let now = Instant::now();
        self.0.lock().tasks.values().any(|task| task.runs_until.is_some_and(|until| until > now))
    }

    /// Returns whether the request is about a task that its sender began here.
    pub fn has_task_of(&self, request: &Request) -> bool {
        request.method.as_str().starts_with("tasks/") && self.owns_all(request, named(request))
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
            self.0.lock().note_end(&task);
        }
    }
}

impl Gate for TaskOwnersGate {
    type Pass = Option<TaskAnswer>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let principal = request.context.principal.as_ref();
        Flow::Pass(match request.method.as_str() {
            "tools/call" => principal.cloned().map(TaskAnswer::Note),
            "tasks/list" => match principal {
                Some(principal) => Some(TaskAnswer::Filter(principal.clone())),
                None => return refused(request),
            },
            "subscriptions/listen" if !self.owns_all(request, listened_to(request)) => {
                return refused(request);
            }
            name if name.starts_with("tasks/") && !self.owns_all(request, named(request)) => {
                return refused(request);
            }
            "tasks/get" | "tasks/cancel" => {
                Some(TaskAnswer::Follow { is_over: false, tasks: named(request).unwrap_or_default() })
            }
            "tasks/result" => {
                Some(TaskAnswer::Follow { is_over: true, tasks: named(request).unwrap_or_default() })
            }
            _ => None,
        })
    }

    fn leave(&self, pass: Self::Pass, outcome: &mut Result<Response, Error>) {
        match (pass, &mut *outcome) {
            (Some(TaskAnswer::Note(principal)), Ok(response)) => {
                // Most results report no task that has begun, and are not parsed.
                if WORD.find(response.result.as_bytes()).is_some()
                    && let Some(task) = begun(&response.result)
                {
                    self.0.lock().note(&task, &principal);
                }
            }
            (Some(TaskAnswer::Filter(principal)), Ok(response)) => {
                if let Err(error) = self.keep_own(&principal, response) {
                    *outcome = Err(error);
                }
            }
            (Some(TaskAnswer::Follow { is_over, tasks }), outcome) => {
                let has_ended = match outcome {
                    Ok(response) => {
                        is_over || Object::from_raw(&response.result).is_ok_and(|task| has_ended(&task))
                    }
                    // The error is the outcome of the task, or the server no longer knows the task.
                    Err(error) => {
                        error.origin() == Origin::Peer && (is_over || error.code() == code::INVALID_PARAMS)
                    }
                };
                if has_ended {
                    let mut known = self.0.lock();
                    for task in &tasks {
                        known.note_end(task);
                    }
                }
            }
            _ => {}
        }
    }
}

impl TaskOwnersGate {
    fn owns_all(&self, request: &Request, tasks: Option<Vec<String>>) -> bool {
        let Some(tasks) = tasks else { return false };
        let known = self.0.lock();
        tasks.iter().all(|task| {
            let task = known.tasks.get(&**task);
            task.is_some_and(|task| Some(&task.owner) == request.context.principal.as_ref())
        })
    }

    /// Removes the tasks of other callers from a list of tasks.
    fn keep_own(&self, principal: &Principal, response: &mut Response) -> Result<(), Error> {
        let malformed = || Error::misbehaved("the list of tasks is none");
        response.absorb_stamp();
        let mut result = Object::from_raw(&response.result).map_err(|_| malformed())?;
        let Some(tasks) = result.get("tasks") else { return Ok(()) };
        let mut tasks: Vec<Object> = tasks.to().map_err(|_| malformed())?;
        let known = self.0.lock();
        tasks.retain(|task| {
            let known = task.text("taskId").and_then(|id| known.tasks.get(&*id));
            known.is_some_and(|known| known.owner == *principal)
        });
        drop(known);
        result.set("tasks", RawJson::from_value(&tasks).map_err(|_| malformed())?);
        response.result = result.to_raw().into();
        Ok(())
    }
}

/// Returns the task that a request names, in a list; `None` if it names none, and so is about a task that nobody owns.
fn named(request: &Request) -> Option<Vec<String>> {
    request.params.text("taskId").map(|task| vec![task.into_owned()])
}

/// Returns the tasks that a subscription asks to hear about; `None` if they cannot be read.
fn listened_to(request: &Request) -> Option<Vec<String>> {
    let wanted = request.params.object("notifications");
    wanted.and_then(|wanted| wanted.get("taskIds")).map_or(Some(Vec::new()), |tasks| tasks.to().ok())
}

fn refused<P>(request: &Request) -> Flow<P> {
    request.context.note_refusal(Refusal::new("access", "not-your-task"));
    Flow::refuse(refusal(code::ACCESS_DENIED, "there is no such task of yours"))
}

impl TaskOwners {
    /// Notes the owner of a task: the first principal to be told of it.
    fn note(&mut self, task: &str, principal: &Principal) {
        let runs_until = Some(Instant::now() + LONGEST);
        if let Some(known) = self.tasks.get_mut(task) {
            if known.owner == *principal {
                known.runs_until = runs_until;
            }
            return;
        }
        if self.begun.len() >= MAX_TASKS
            && let Some(oldest) = self.begun.pop_front()
        {
            self.tasks.remove(&oldest);
        }
        let task: Arc<str> = task.into();
        self.tasks.insert(task.clone(), OwnedTask { owner: principal.clone(), runs_until });
        self.begun.push_back(task);
    }

    fn note_end(&mut self, task: &str) {
        if let Some(known) = self.tasks.get_mut(task) {
            known.runs_until = None;
        }
    }
}

/// The treatment of the answer to a request about tasks.
#[derive(Debug)]
pub enum TaskAnswer {
    /// The task that the answer reports to have begun belongs to this caller.
    Note(Principal),
    /// The caller is shown its own tasks alone.
    Filter(Principal),
    /// The answer reports on tasks, or ends them: with `is_over`, any answer means that they have ended.
    Follow {
        /// True if any answer means the end.
        is_over: bool,
        /// The tasks that the request names.
        tasks: Vec<String>,
    },
}

mgp_types::partial_debug!(TaskOwnersGate, self => tasks: self.0.lock().begun.len());

fn has_ended(task: &Object) -> bool {
    TaskStatus::of_task(task).is_some_and(|status| status.is_terminal())
}

/// The member name by which a result that may begin a task is recognized.
static WORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""taskId""#));
/// The largest number of tasks that are known at a time.
const MAX_TASKS: usize = 65_536;
/// The longest time for which a task whose end was not reported counts as running.
const LONGEST: Duration = Duration::from_hours(24);
