use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use memchr::memmem::Finder;
use mgp_types::mcp::task::{TaskStatus, begun};
use mgp_types::mgp::Refusal;
use mgp_types::{Error, Object, Origin, Principal, RawJson, Request, Response, RpcService, Shape, code};
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use crate::refusal::refusal;

/// Keeps the tasks that a caller began to itself, where many share one way to a server. Makes [`TaskOwners`] services,
/// which share what they know.
#[derive(Clone, Default)]
pub struct TaskOwnersLayer(Arc<Mutex<Known>>);

/// Who began which task; bounded by [`MAX_TASKS`], the oldest is forgotten first.
#[derive(Default)]
struct Known {
    owners: HashMap<Arc<str>, Principal, foldhash::quality::RandomState>,
    begun: VecDeque<Arc<str>>,
    /// Those of which it was not heard that they have ended, and until when they count as going on.
    open: HashMap<Arc<str>, Instant, foldhash::quality::RandomState>,
}

impl TaskOwnersLayer {
    /// A layer that knows of no task yet.
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
        *self.0.lock() = Known::default();
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

impl<S> Layer<S> for TaskOwnersLayer {
    type Service = TaskOwners<S>;

    fn layer(&self, inner: S) -> TaskOwners<S> {
        TaskOwners { inner, known: self.0.clone() }
    }
}

/// The service of [`TaskOwnersLayer`].
///
/// A server behind one connection takes all of its callers for one, and gives each the tasks of all. So this notes
/// who began a task, lets nobody else ask about it, and leaves of a list of tasks those of the caller. A task that is
/// not known, because it began before this process or very long ago, is nobody's. What the server says of a task unasked
/// does not pass here: whoever hands out notifications has to look for its owner.
///
/// Sits behind access. Reads `context.principal`; fills `context.trail`. A refusal is 1001, and the same whether there
/// is such a task or not. The result of a call is searched for one word; only a task takes a lock.
#[derive(Clone)]
pub struct TaskOwners<S> {
    inner: S,
    known: Arc<Mutex<Known>>,
}

impl<S: RpcService> Service<Request> for TaskOwners<S> {
    type Response = Response;
    type Error = Error;
    type Future = TaskOwnersFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let then = match request.method.as_str() {
            "tools/call" => Then::Note,
            "tasks/list" => Then::Filter,
            "subscriptions/listen" if !self.owns_all(&request, &listened_to(&request)) => {
                return refused(&request);
            }
            name if name.starts_with("tasks/") && !self.owns_all(&request, &named(&request)) => {
                return refused(&request);
            }
            "tasks/get" | "tasks/cancel" => Then::Follow { is_over: false, task: named(&request) },
            "tasks/result" => Then::Follow { is_over: true, task: named(&request) },
            _ => return TaskOwnersFuture::Passed { future: self.inner.call(request) },
        };
        let Some(principal) = request.context.principal.clone() else {
            return if matches!(then, Then::Note) {
                TaskOwnersFuture::Passed { future: self.inner.call(request) }
            } else {
                refused(&request)
            };
        };
        let known = self.known.clone();
        TaskOwnersFuture::Watched {
            future: self.inner.call(request),
            watch: Watch { then, principal, known },
        }
    }
}

impl<S> TaskOwners<S> {
    fn owns_all(&self, request: &Request, tasks: &[Option<String>]) -> bool {
        let known = self.known.lock();
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

fn refused<F>(request: &Request) -> TaskOwnersFuture<F> {
    if let Some(trail) = &request.context.trail {
        trail.note_refusal(Refusal::new("access", "not-your-task"));
    }
    let error = refusal(code::ACCESS_DENIED, "there is no such task of yours");
    TaskOwnersFuture::Refused { error: Some(error) }
}

impl Known {
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
enum Then {
    Note,
    Filter,
    /// It tells how a task does, and that it `is_over` if there is one.
    Follow {
        is_over: bool,
        task: [Option<String>; 1],
    },
}

/// Whose answer it is, and what is done with it.
#[doc(hidden)]
pub struct Watch {
    then: Then,
    principal: Principal,
    known: Arc<Mutex<Known>>,
}

impl Watch {
    fn look(&self, outcome: Result<Response, Error>) -> Result<Response, Error> {
        match &self.then {
            Then::Note => {
                if let Some(task) = outcome.as_ref().ok().and_then(|response| told_to_begin(&response.result))
                {
                    self.known.lock().note(&task, &self.principal);
                }
                outcome
            }
            Then::Filter => self.own(outcome?),
            Then::Follow { is_over, task } => {
                let has_ended = match &outcome {
                    Ok(response) => {
                        *is_over || Object::from_raw(&response.result).is_ok_and(|task| has_ended(&task))
                    }
                    // The error is what came of it, or the server does not know it any more.
                    Err(error) => {
                        error.origin() == Origin::Peer && (*is_over || error.code() == code::INVALID_PARAMS)
                    }
                };
                if let Some(task) = task.iter().flatten().find(|_| has_ended) {
                    self.known.lock().open.remove(&**task);
                }
                outcome
            }
        }
    }

    fn own(&self, mut response: Response) -> Result<Response, Error> {
        let malformed = || Error::misbehaved("the list of tasks is none");
        if response.context.stamp.is_some() {
            response.result = response.to_raw();
            response.context.stamp = None;
            response.context.shape = Shape::Opaque;
        }
        let mut result = Object::from_raw(&response.result).map_err(|_| malformed())?;
        let Some(tasks) = result.get("tasks") else { return Ok(response) };
        let mut tasks: Vec<Object> = tasks.to().map_err(|_| malformed())?;
        let known = self.known.lock();
        tasks.retain(|task| {
            task.text("taskId").and_then(|id| known.owners.get(&*id)) == Some(&self.principal)
        });
        drop(known);
        result.set("tasks", RawJson::from_value(&tasks).map_err(|_| malformed())?);
        response.result = result.to_raw();
        Ok(response)
    }
}

pin_project! {
    /// The future of [`TaskOwners`].
    #[project = Projected]
    #[must_use = "futures do nothing unless polled"]
    pub enum TaskOwnersFuture<F> {
        /// The task is not the caller's.
        #[doc(hidden)]
        Refused { error: Option<Error> },
        /// The service behind the layer answers.
        #[doc(hidden)]
        Passed { #[pin] future: F },
        /// The service behind the layer answers, and the answer is looked at.
        #[doc(hidden)]
        Watched { #[pin] future: F, watch: Watch },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for TaskOwnersFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projected::Refused { error } => {
                Poll::Ready(Err(error.take().expect("a future is not polled again after it was ready")))
            }
            Projected::Passed { future } => future.poll(cx),
            Projected::Watched { future, watch } => {
                let outcome = ready!(future.poll(cx));
                Poll::Ready(watch.look(outcome))
            }
        }
    }
}

impl fmt::Debug for TaskOwnersLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskOwnersLayer").field("tasks", &self.0.lock().begun.len()).finish()
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("then", &self.then).finish_non_exhaustive()
    }
}

impl<S: fmt::Debug> fmt::Debug for TaskOwners<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskOwners").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for TaskOwnersFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskOwnersFuture").finish_non_exhaustive()
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
