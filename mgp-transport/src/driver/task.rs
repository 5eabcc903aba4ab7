use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{Error, Id, Response};
use tokio::sync::mpsc;

/// What became of a request of the peer.
pub(super) struct Done {
    pub(super) id: Id,
    pub(super) outcome: Result<Response, Error>,
}

/// The work on one request, in a task of its own. It reports what became of it in any case: when it is
/// dropped without an outcome, because the handler panicked, the peer still gets an answer.
pub(super) struct Work<F> {
    future: Pin<Box<F>>,
    report: Report,
}

struct Report {
    id: Option<Id>,
    done: mpsc::UnboundedSender<Done>,
}

impl<F> Work<F> {
    pub(super) fn new(id: Id, future: Pin<Box<F>>, done: mpsc::UnboundedSender<Done>) -> Self {
        Self { future, report: Report { id: Some(id), done } }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for Work<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.future.as_mut().poll(cx).map(|outcome| self.report.send(outcome))
    }
}

impl Report {
    fn send(&mut self, outcome: Result<Response, Error>) {
        if let Some(id) = self.id.take() {
            // Fails only if the connection is gone, and then there is nobody to answer.
            let _ = self.done.send(Done { id, outcome });
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.send(Err(Error::internal("the request handler stopped without an answer")));
    }
}
