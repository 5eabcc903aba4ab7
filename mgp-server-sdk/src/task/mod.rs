//! Tasks: calls that go on after they were answered.
//!
//! Two protocols share one store: the experiment of 2025-11-25, in which a client asks for a task, and the extension of
//! 2026-07-28, in which the server decides.

mod entry;
mod extension;
pub(crate) mod session_era;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::{Context, Error, RawJson, Request, Response, Revision, code};
use parking_lot::Mutex;
use scopeguard::guard;
use tokio::runtime::Handle;
use tokio::time::Instant;

pub use self::entry::TaskRun;
use self::entry::{Outcome, Task, TaskOwner};
pub(crate) use self::extension::{cancel, declared, get, update};
use crate::change::{Change, Listeners, notification};

mgp_types::with_defaults! {
    /// The limits of a server's tasks.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct TaskLimits {
        /// The number of tasks that are kept at once; a finished one makes room for a new one. Default: 1024.
        pub max_tasks: usize = 1024,
        /// The number of tasks that one principal may have, or one session without a principal. Stateless clients without a
        /// principal count as one. Default: 128.
        pub max_per_owner: usize = 128,
        /// The time for which a task is kept if the client asks for none. A task that still runs then is cancelled.
        /// Default: one hour.
        pub ttl: Duration = Duration::from_hours(1),
        /// The longest time for which a task is kept. Default: one day.
        pub max_ttl: Duration = Duration::from_hours(24),
        /// The time that clients should wait between two looks. Default: 500 ms.
        pub poll_interval: Duration = Duration::from_millis(500),
    }
}

/// The tasks of a server, each of which only its owner sees. Dropping the store aborts running work.
///
/// A [`Server`](crate::Server) has a store of its own. A service of another kind answers calls with tasks of the stateless
/// revisions by [`begin`](Self::begin), and the requests about them by [`answer`](Self::answer).
#[derive(Debug)]
pub struct TaskStore {
    limits: TaskLimits,
    tasks: Mutex<HashMap<Arc<str>, Arc<Task>>>,
    pub(crate) listeners: Arc<Listeners>,
    next: AtomicU64,
}

impl TaskStore {
    /// Returns a store without tasks.
    pub fn new(limits: TaskLimits) -> Self {
        Self { limits, tasks: Mutex::default(), listeners: Arc::default(), next: AtomicU64::new(0) }
    }

    /// Begins a task of the sender of the request in `context`, described to people by `message`, and runs `work` in it.
    /// Returns the result that tells the sender of the task.
    ///
    /// # Errors
    /// The sender or the server has too many tasks, or there is no runtime to run the work on.
    pub fn begin<F>(
        self: &Arc<Self>,
        context: &Context,
        message: &str,
        work: impl FnOnce(TaskRun) -> F,
    ) -> Result<Response, Error>
    where
        F: Future<Output = Result<Response, Error>> + Send + 'static,
    {
        let task = self.create(context, None)?;
        task.say(message);
        let work = work(TaskRun::new(&task, self));
        // Only the tasks of sessions tell failed results apart.
        self.run(&task, async move { work.await.map(|response| (response, false)) })?;
        extension::created(&task)
    }

    /// Answers `tasks/get`, `tasks/update` and `tasks/cancel` of the stateless revisions. Returns `None` for other requests,
    /// and for those whose sender has no such task here.
    pub fn answer(self: &Arc<Self>, request: &Request) -> Option<Result<Response, Error>> {
        let answer: fn(&Arc<Self>, &Request) -> Result<Response, Error> = match request.method.as_str() {
            "tasks/get" => extension::get,
            "tasks/update" => extension::update,
            "tasks/cancel" => extension::cancel,
            _ => return None,
        };
        self.named(request).is_ok().then(|| answer(self, request))
    }

    /// Returns the task with this id, if the request comes from its owner.
    pub(crate) fn find(&self, id: &str, context: &Context) -> Result<Arc<Task>, Error> {
        let task = self.tasks.lock().get(id).cloned();
        task.filter(|task| task.expires > Instant::now() && task.owner.is(context))
            .ok_or_else(|| Error::invalid_params("unknown task"))
    }

    /// Returns the task that the request names, if it comes from its owner.
    fn named(&self, request: &Request) -> Result<Arc<Task>, Error> {
        let id = request.params.text("taskId").ok_or_else(|| Error::invalid_params("`taskId` is missing"))?;
        self.find(&id, &request.context)
    }

    /// Returns the tasks of the request's sender, oldest first.
    fn of(&self, context: &Context) -> Vec<Arc<Task>> {
        let now = Instant::now();
        let tasks = self.tasks.lock();
        let mut own: Vec<_> =
            tasks.values().filter(|task| task.expires > now && task.owner.is(context)).cloned().collect();
        drop(tasks);
        own.sort_by_key(|task| task.number);
        own
    }

    /// Creates a task of the request's sender that is kept for `ttl` milliseconds.
    ///
    /// # Errors
    /// The sender or the server has too many tasks.
    pub(crate) fn create(&self, context: &Context, ttl: Option<i64>) -> Result<Arc<Task>, Error> {
        let wanted = ttl.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
        let ttl = wanted.unwrap_or(self.limits.ttl).min(self.limits.max_ttl);
        let owner = TaskOwner::of(context);
        let mut tasks = self.tasks.lock();
        self.sweep(&mut tasks);
        let own = tasks.values().filter(|task| task.owner.is(context)).count();
        if own >= self.limits.max_per_owner && !self.evict(&mut tasks, |task| task.owner.is(context))
            || tasks.len() >= self.limits.max_tasks && !self.evict(&mut tasks, |_| true)
        {
            return Err(Error::new(code::RESOURCE_EXHAUSTED, "too many tasks"));
        }
        let id: Arc<str> = mgp_types::random_name().into();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let task = Arc::new(Task::new(id.clone(), number, owner, ttl, self.limits.poll_interval));
        tasks.insert(id, task.clone());
        drop(tasks);
        if let Some(session) = task.owner.session() {
            self.listeners.follow(&session, &task.id);
        }
        Ok(task)
    }

    /// Runs the work of a task until it is done, its time is over, or it is cancelled.
    ///
    /// # Errors
    /// There is no runtime to run the work on.
    pub(crate) fn run<F>(self: &Arc<Self>, task: &Arc<Task>, work: F) -> Result<(), Error>
    where
        F: Future<Output = Result<(Response, bool), Error>> + Send + 'static,
    {
        let runtime = Handle::try_current().map_err(|_| Error::internal("there is no runtime for tasks"))?;
        let run = TaskRun::new(task, self);
        let expires = task.expires;
        let running = runtime.spawn(async move {
            // The task ends in any case: work that panics would leave it running for ever.
            let stopped = "the task stopped without a result";
            let run = guard(run, |run| run.finish(Outcome::Failed(Error::internal(stopped))));
            let outcome = match tokio::time::timeout_at(expires, work).await {
                Ok(Ok((response, is_error))) => {
                    Outcome::Result { result: response.to_raw().detached(), is_error }
                }
                Ok(Err(error)) => Outcome::Failed(error),
                Err(_) => Outcome::Failed(Error::timeout("the task took longer than it may be kept")),
            };
            run.finish(outcome);
        });
        task.runs_in(running.abort_handle());
        Ok(())
    }

    /// Notifies the followers of the task that it changed.
    fn announce(self: &Arc<Self>, task: &Task) {
        self.tell(&Change::Task(task.id.clone()));
    }

    /// Notifies the listeners to a change.
    pub(crate) fn tell(self: &Arc<Self>, change: &Change) {
        let tasks = self.clone();
        self.listeners.announce(change, move |change| match change {
            Change::Task(id) => session_era::notification(&*tasks.get(id)?),
            other => Some(notification(other)),
        });
    }

    /// Returns the notification about a task for a request that listens.
    pub(crate) fn stateless_notification(&self, id: &str) -> Option<Request> {
        extension::notification(&*self.get(id)?)
    }

    fn get(&self, id: &str) -> Option<Arc<Task>> {
        self.tasks.lock().get(id).cloned()
    }

    /// Forgets tasks whose time is over.
    fn sweep(&self, tasks: &mut HashMap<Arc<str>, Arc<Task>>) {
        let now = Instant::now();
        for (id, _) in tasks.extract_if(|_, task| task.expires <= now) {
            self.listeners.forget(&id);
        }
    }

    /// Forgets the oldest finished task of those; returns whether there was one.
    fn evict(&self, tasks: &mut HashMap<Arc<str>, Arc<Task>>, of: impl Fn(&Task) -> bool) -> bool {
        let over = tasks.values().filter(|task| of(task) && task.state().outcome.is_some());
        let Some(oldest) = over.min_by_key(|task| task.number).map(|task| task.id.clone()) else {
            return false;
        };
        self.listeners.forget(&oldest);
        tasks.remove(&oldest).is_some()
    }
}

/// Returns the error of a task as JSON, in the terms of a peer with or without MGP.
fn error_json(error: &Error, plain: bool) -> RawJson {
    #[derive(serde::Serialize)]
    struct Wire<'a> {
        code: i64,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<RawJson>,
    }
    let code = if plain { code::to_mcp(error.code(), true) } else { error.code() };
    let data = if plain { error.data().cloned() } else { error.wire_data() };
    RawJson::from_value(&Wire { code, message: error.message(), data })
        .unwrap_or_else(|_| RawJson::empty_object())
}

/// Returns the answer to the call that became the task.
pub(crate) fn created(task: &Task, revision: Revision) -> Result<Response, Error> {
    if revision.is_stateless() { extension::created(task) } else { session_era::created(task) }
}
