//! The messages and reports that a connection has to send, and the tasks that report.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{Error, Id, Response, StreamId};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use super::wire::OutgoingMessage;

/// The messages of our side in the order they were made. Messages and reports come through two channels, and a report
/// goes behind the messages that its maker sent before it.
pub(super) struct Queue {
    messages: mpsc::Receiver<OutgoingMessage>,
    reports: mpsc::UnboundedReceiver<ConnectionReport>,
    /// The reports, each with the number of messages that are taken before its turn.
    reported: VecDeque<(u64, ConnectionReport)>,
    /// The number of messages taken so far.
    taken: u64,
}

impl Queue {
    pub(super) fn new(
        messages: mpsc::Receiver<OutgoingMessage>,
        reports: mpsc::UnboundedReceiver<ConnectionReport>,
    ) -> Self {
        Self { messages, reports, reported: VecDeque::new(), taken: 0 }
    }

    /// Returns the next report that has come, if its turn has come; most often no message was sent before it.
    #[inline]
    pub(super) fn poll_report(&mut self, cx: &mut Context<'_>) -> Poll<ConnectionReport> {
        while let Poll::Ready(Some(report)) = self.reports.poll_recv(cx) {
            // Every message that the reporter sent is in the channel by now.
            let ahead = self.messages.len();
            if ahead == 0 {
                return Poll::Ready(report);
            }
            self.reported.push_back((self.taken + ahead as u64, report));
        }
        Poll::Pending
    }

    /// Returns the next report whose turn it is now.
    #[inline]
    pub(super) fn due(&mut self) -> Option<ConnectionReport> {
        self.reported.front().filter(|(turn, _)| *turn <= self.taken)?;
        self.reported.pop_front().map(|(_, report)| report)
    }

    /// Returns the next message.
    #[inline]
    pub(super) fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<OutgoingMessage> {
        let Poll::Ready(Some(message)) = self.messages.poll_recv(cx) else { return Poll::Pending };
        self.taken += 1;
        Poll::Ready(message)
    }

    /// Returns whether no message waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the messages that wait now.
    pub(super) fn waiting(&mut self) -> impl Iterator<Item = OutgoingMessage> + use<> {
        let mut waiting = Vec::with_capacity(self.messages.len());
        while waiting.len() < waiting.capacity()
            && let Ok(message) = self.messages.try_recv()
        {
            self.taken += 1;
            waiting.push(message);
        }
        waiting.into_iter()
    }
}

/// Drops the messages that nobody takes any more, which tells their senders so.
///
/// A message that a sender just puts into the channel would stay in it, and its sender wait, for as long as there are
/// senders: dropping the receiver alone drops only those that are there.
impl Drop for Queue {
    fn drop(&mut self) {
        self.messages.close();
        let mut left = std::mem::replace(&mut self.messages, mpsc::channel(1).1);
        while left.try_recv().is_ok() {}
        if let (Err(TryRecvError::Empty), Ok(runtime)) = (left.try_recv(), Handle::try_current()) {
            runtime.spawn(async move { while left.recv().await.is_some() {} });
        }
    }
}

/// The reports of tasks to their connection. There is at most one per request in flight in either direction.
pub(super) enum ConnectionReport {
    /// The work on a request of the peer is done.
    ///
    /// The stream is part of the report, because the peer may have reused the id of a request that it took back.
    Done { id: Id, stream: StreamId, outcome: Result<Response, Error> },
    /// The caller no longer waits for the answer to our request.
    Dropped { id: i64 },
}

/// The work on one request, in a task of its own. The work always reports an outcome: a task that is dropped without
/// one, because the handler panicked, still answers the peer.
pub(super) struct RequestWork<F> {
    future: Pin<Box<F>>,
    /// The id of the request; `None` once its outcome was reported.
    id: Option<Id>,
    stream: StreamId,
    reports: mpsc::UnboundedSender<ConnectionReport>,
}

impl<F> RequestWork<F> {
    pub(super) fn new(
        id: Id,
        stream: StreamId,
        future: Pin<Box<F>>,
        reports: mpsc::UnboundedSender<ConnectionReport>,
    ) -> Self {
        Self { future, id: Some(id), stream, reports }
    }

    fn report(&mut self, outcome: Result<Response, Error>) {
        if let Some(id) = self.id.take() {
            // Sending fails only if the connection is gone, and then nobody needs the report.
            let _ = self.reports.send(ConnectionReport::Done { id, stream: self.stream, outcome });
        }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for RequestWork<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.future.as_mut().poll(cx).map(|outcome| self.report(outcome))
    }
}

impl<F> Drop for RequestWork<F> {
    fn drop(&mut self) {
        self.report(Err(Error::internal("the request handler stopped without an answer")));
    }
}
