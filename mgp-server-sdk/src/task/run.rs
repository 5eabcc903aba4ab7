//! A task, as its own work sees it.

use std::sync::{Arc, Weak};

use mgp_types::mcp::meta::key;
use mgp_types::{
    BoxFuture, Context, Error, Method, Object, Outbox, OutboxPort, Params, RawJson, Request, Response,
    StreamId,
};

use super::entry::{Outcome, Task};
use super::store::TaskStore;

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
        Outbox::new(Arc::new(QuestionPort::new(self.clone(), key)), StreamId::STANDALONE)
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
    let mut related = Object::new();
    related.set("taskId", RawJson::from_text(id));
    params.object_mut_or_new("_meta").set(key::RELATED_TASK, related.to_raw());
}

/// The target of a task's questions instead of the client: they wait with the task.
pub(super) struct QuestionPort {
    run: TaskRun,
    key: Box<str>,
}

impl QuestionPort {
    pub(super) fn new(run: TaskRun, key: &str) -> Self {
        Self { run, key: key.into() }
    }
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
