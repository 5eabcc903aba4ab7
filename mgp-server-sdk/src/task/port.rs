//! The outbox of a task, whose questions wait with the task.

use mgp_types::{BoxFuture, Error, OutboxPort, Request, Response, StreamId};

use super::run::TaskRun;

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
