//! One task: its owner, its questions, its outcome and its times, and the task as its own work sees it.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use mgp_types::mcp::meta::key;
use mgp_types::mcp::task::TaskStatus;
use mgp_types::mgp::Timestamp;
use mgp_types::{
    BoxFuture, Context, Error, Method, Object, Outbox, OutboxPort, Params, Principal, RawJson, Request,
    Response, Session, StreamId,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::TaskStore;

/// One task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(super) id: Arc<str>,
    /// The number of the task in the order of creation.
    pub(super) number: u64,
    pub(super) owner: TaskOwner,
    pub(super) created_at: Timestamp,
    pub(super) expires: Instant,
    pub(super) ttl: Duration,
    pub(super) poll_interval: Duration,
    state: Mutex<TaskState>,
    /// A wait for any change that begins before a look at the task misses none.
    pub(super) changed: Notify,
    abort: OnceLock<AbortHandle>,
}

/// The owner of a task: no other caller can see the task.
#[derive(Debug)]
pub(super) struct TaskOwner {
    principal: Option<Principal>,
    /// The session of a 2025-11-25 task. The eras do not see each other's tasks.
    pub(super) session: Option<Weak<Session>>,
}

/// The state of a task at one moment.
#[derive(Debug)]
pub(super) struct TaskState {
    pub(super) message: Option<String>,
    pub(super) updated_at: Timestamp,
    pub(super) outcome: Option<Outcome>,
    /// The questions without an answer.
    questions: Vec<Question>,
    /// The keys of all questions so far; no key is used twice.
    keys: Vec<Box<str>>,
}

/// The outcome of a task.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Result { result: RawJson, is_error: bool },
    Failed(Error),
    Cancelled,
}

/// A question that a task waits for.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) key: Box<str>,
    pub(super) method: Method,
    pub(super) params: Object,
    pub(super) answer: oneshot::Sender<Result<RawJson, Error>>,
}

impl TaskOwner {
    pub(super) fn of(context: &Context) -> Self {
        let session = context.session.as_ref().filter(|session| session.lasts());
        Self { principal: context.principal.clone(), session: session.map(Arc::downgrade) }
    }

    /// Returns whether a request with this context comes from the owner.
    pub(super) fn is(&self, context: &Context) -> bool {
        if self.principal != context.principal {
            return false;
        }
        let session = context.session.as_ref().filter(|session| session.lasts());
        match (&self.session, session) {
            (None, None) => true,
            // A principal keeps its tasks from one session to the next; a caller without one is known by its session
            // only.
            (Some(own), Some(session)) => self.principal.is_some() || own.as_ptr() == Arc::as_ptr(session),
            _ => false,
        }
    }

    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.session.as_ref()?.upgrade()
    }
}

impl Task {
    pub(super) fn new(
        id: Arc<str>,
        number: u64,
        owner: TaskOwner,
        ttl: Duration,
        poll_interval: Duration,
    ) -> Self {
        let now = Timestamp::now();
        let state =
            TaskState { message: None, updated_at: now, outcome: None, questions: vec![], keys: vec![] };
        Self {
            id,
            number,
            owner,
            created_at: now,
            expires: Instant::now() + ttl,
            ttl,
            poll_interval,
            state: Mutex::new(state),
            changed: Notify::new(),
            abort: OnceLock::new(),
        }
    }

    /// Locks the state of the task.
    pub(super) fn state(&self) -> MutexGuard<'_, TaskState> {
        self.state.lock()
    }

    /// Hands the running work to the task, which aborts it when it is cancelled or dropped.
    pub(super) fn runs_in(&self, abort: AbortHandle) {
        let _ = self.abort.set(abort);
        // The task may have been cancelled in the meantime.
        if matches!(self.state.lock().outcome, Some(Outcome::Cancelled)) {
            self.stop();
        }
    }

    /// Ends the task; returns `false` if it was over already.
    pub(super) fn finish(&self, outcome: Outcome) -> bool {
        let mut state = self.state.lock();
        if state.outcome.is_some() {
            return false;
        }
        let stop = matches!(outcome, Outcome::Cancelled);
        state.outcome = Some(outcome);
        state.questions.clear();
        state.touch();
        drop(state);
        self.changed.notify_waiters();
        if stop {
            self.stop();
        }
        true
    }

    pub(super) fn say(&self, message: &str) {
        let mut state = self.state.lock();
        if state.outcome.is_none() {
            state.message = Some(message.into());
            state.touch();
        }
    }

    /// Notes a question, under `key` or a similar one if that was used before.
    pub(super) fn ask(
        &self,
        key: &str,
        method: Method,
        params: Object,
    ) -> oneshot::Receiver<Result<RawJson, Error>> {
        let (answer, answered) = oneshot::channel();
        let mut state = self.state.lock();
        if state.outcome.is_none() {
            let key = state.unused(key);
            state.keys.push(key.clone());
            state.questions.push(Question { key, method, params, answer });
            state.touch();
        }
        drop(state);
        self.changed.notify_waiters();
        answered
    }

    /// Removes the question called `key` and returns it, for its answer.
    pub(super) fn take_question(&self, key: &str) -> Option<Question> {
        let mut state = self.state.lock();
        let place = state.questions.iter().position(|question| &*question.key == key)?;
        state.touch();
        Some(state.questions.remove(place))
    }

    /// Removes the first question and returns it, for its answer.
    pub(super) fn take_first_question(&self) -> Option<Question> {
        let mut state = self.state.lock();
        state.questions.retain(|question| !question.answer.is_closed());
        (!state.questions.is_empty()).then(|| state.questions.remove(0))
    }

    /// Puts a question back that was not answered.
    pub(super) fn put_back(&self, question: Question) {
        let mut state = self.state.lock();
        if state.outcome.is_none() {
            state.questions.insert(0, question);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    fn stop(&self) {
        if let Some(abort) = self.abort.get() {
            abort.abort();
        }
    }
}

impl TaskState {
    pub(super) fn status(&self) -> TaskStatus {
        match &self.outcome {
            None if self.waiting().next().is_some() => TaskStatus::InputRequired,
            None => TaskStatus::Working,
            Some(Outcome::Result { .. }) => TaskStatus::Completed,
            Some(Outcome::Failed(_)) => TaskStatus::Failed,
            Some(Outcome::Cancelled) => TaskStatus::Cancelled,
        }
    }

    /// Returns the questions whose askers still wait.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|question| !question.answer.is_closed())
    }

    fn touch(&mut self) {
        self.updated_at = Timestamp::now();
    }

    fn unused(&self, key: &str) -> Box<str> {
        let is_used = |key: &str| self.keys.iter().any(|used| &**used == key);
        if !is_used(key) {
            return key.into();
        }
        // The range has more numbers than there are used keys.
        let others = 2..self.keys.len() + 3;
        others.map(|round| format!("{key}-{round}")).find(|key| !is_used(key)).unwrap_or_default().into()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns a span as tasks state it on the wire.
pub(super) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// A task, as its own work sees it.
#[derive(Debug, Clone)]
pub struct TaskRun {
    pub(super) task: Arc<Task>,
    store: Weak<TaskStore>,
}

impl TaskRun {
    pub(crate) fn new(task: &Arc<Task>, store: &Arc<TaskStore>) -> Self {
        Self { task: task.clone(), store: Arc::downgrade(store) }
    }

    /// Sets the status of the task in words, for people.
    pub fn say(&self, message: &str) {
        self.task.say(message);
        self.announce();
    }

    /// Returns an outbox whose questions wait with the task, called `key` or similarly, until the client looks.
    pub fn outbox(&self, key: &str) -> Outbox {
        Outbox::new(Arc::new(QuestionPort { run: self.clone(), key: key.into() }), StreamId::STANDALONE)
    }

    /// Marks a notification as one of the task, where the era does that.
    pub(crate) fn relate(&self, params: &mut Params) {
        if self.task.owner.session.is_some() {
            relate(params, &self.task.id);
        }
    }

    /// Asks the client through the task: the question waits with the task until the client looks.
    pub(crate) async fn ask(
        &self,
        context: &Context,
        key: &str,
        method: Method,
        params: Object,
    ) -> Result<RawJson, Error> {
        let mut context = context.clone();
        context.input = None;
        context.outbox = self.outbox(key);
        context.ask(key, method, params).await
    }

    pub(super) fn finish(&self, outcome: Outcome) {
        if self.task.finish(outcome) {
            self.announce();
        }
    }

    pub(super) fn announce(&self) {
        if let Some(store) = self.store.upgrade() {
            store.announce(&self.task);
        }
    }
}

/// Writes the task that a message of 2025-11-25 belongs to.
pub(super) fn relate(params: &mut Params, id: &str) {
    let related = Object::from([("taskId", RawJson::from_text(id))]);
    params.object_mut_or_new("_meta").set(key::RELATED_TASK, related.to_raw());
}

/// The target of a task's questions instead of the client: they wait with the task.
struct QuestionPort {
    run: TaskRun,
    key: Box<str>,
}

impl OutboxPort for QuestionPort {
    fn notify(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        let answer = self.run.task.ask(&self.key, request.method, request.params);
        self.run.announce();
        Box::pin(async move {
            // A question that is dropped without an answer means that the task is over, and its work about to be
            // stopped.
            answer.await.unwrap_or_else(|_| Err(Error::cancelled())).map(Response::new)
        })
    }
}
