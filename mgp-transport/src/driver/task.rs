//! The work on one request in a task of its own, and its report to the connection.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{Error, Id, Response, StreamId};
use tokio::sync::mpsc;

/// The reports of tasks to their connection. There is at most one per request in flight in either direction.
pub(super) enum Report {
    /// The work on a request of the peer is done.
    ///
    /// The stream is part of the report, because the peer may have reused the id of a request that it took back.
    Done { id: Id, stream: StreamId, outcome: Result<Response, Error> },
    /// The caller no longer waits for the answer to our request.
    Dropped { id: i64 },
}

/// The work on one request, in a task of its own. The work always reports an outcome: a task that is dropped without
/// one, because the handler panicked, still answers the peer.
pub(super) struct Work<F> {
    future: Pin<Box<F>>,
    ticket: Ticket,
}

struct Ticket {
    id: Option<Id>,
    stream: StreamId,
    reports: mpsc::UnboundedSender<Report>,
}

impl<F> Work<F> {
    pub(super) fn new(
        id: Id,
        stream: StreamId,
        future: Pin<Box<F>>,
        reports: mpsc::UnboundedSender<Report>,
    ) -> Self {
        Self { future, ticket: Ticket { id: Some(id), stream, reports } }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for Work<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.future.as_mut().poll(cx).map(|outcome| self.ticket.send(outcome))
    }
}

impl Ticket {
    fn send(&mut self, outcome: Result<Response, Error>) {
        if let Some(id) = self.id.take() {
            // Sending fails only if the connection is gone, and then nobody needs the report.
            let _ = self.reports.send(Report::Done { id, stream: self.stream, outcome });
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.send(Err(Error::internal("the request handler stopped without an answer")));
    }
}
