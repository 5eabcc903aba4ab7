//! The way to the peer of a connection: the service, the waiters for its answers, and what the connection has to send.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use mgp_types::{
    BoxFuture, Error, Id, Method, Outbox, OutboxPort, Params, Request, RequestKind, Response, StreamId,
};
use scopeguard::{ScopeGuard, guard};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::{TryRecvError, TrySendError};
use tower_service::Service;

use crate::deliveries::{CallDeliveries, DeliveryFeed};
use crate::sent_future::sent;
use crate::{ConnectionLimits, about};

/// The way to the peer of a connection: a service that sends requests and yields the answers.
///
/// Clones share the connection. Dropping the future of a call takes the request back: the peer gets
/// `notifications/cancelled`, and a late answer is ignored.
///
/// The peer's messages about a call go to the call's [`outbox`](mgp_types::Context::outbox) while the future of the
/// call is polled, and all of them before the answer. A caller that takes them slowly keeps the peer waiting, for a
/// [bounded time](ConnectionLimits::delivery_timeout).
#[derive(Clone)]
pub struct Wire(Arc<WireShared>);

struct WireShared {
    /// The messages to write. The channel is bounded: senders wait for room.
    messages: mpsc::Sender<OutgoingMessage>,
    /// The reports of calls that were dropped.
    reports: mpsc::UnboundedSender<ConnectionReport>,
    next_id: AtomicI64,
    limits: ConnectionLimits,
}

/// A message on its way out.
pub(super) enum OutgoingMessage {
    Notify {
        /// The stream of the peer's call that the message belongs to.
        stream: StreamId,
        /// The stream of the call of ours that the message is about, if it is about one.
        about: Option<StreamId>,
        method: Method,
        params: Params,
    },
    Call {
        id: i64,
        method: Method,
        params: Params,
        /// The stream of the call of ours that this call is about, if it is about one.
        about: Option<StreamId>,
        feed: DeliveryFeed,
    },
}

impl Wire {
    pub(super) fn new(
        messages: mpsc::Sender<OutgoingMessage>,
        reports: mpsc::UnboundedSender<ConnectionReport>,
        limits: ConnectionLimits,
    ) -> Self {
        Self(Arc::new(WireShared { messages, reports, next_id: AtomicI64::new(1), limits }))
    }

    /// Returns whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.0.messages.is_closed()
    }

    /// Waits until the connection has ended.
    pub async fn closed(&self) {
        self.0.messages.closed().await;
    }

    fn send(self, stream: StreamId, request: Request) -> BoxFuture<'static, Result<Response, Error>> {
        let Request { kind, method, params, context, .. } = request;
        let about = about::own(&method, &context.outbox);
        if kind == RequestKind::Notify {
            let message = OutgoingMessage::Notify { stream, about, method, params };
            return Box::pin(async move { self.queue(message).await.map(|()| Response::empty()) });
        }
        let outbox = if about.is_none() { context.outbox } else { Outbox::CLOSED };
        Box::pin(self.ask(outbox, about, method, params))
    }

    /// Makes a call, and delivers the peer's messages about it to `outbox`.
    async fn ask(
        self,
        outbox: Outbox,
        about: Option<StreamId>,
        method: Method,
        params: Params,
    ) -> Result<Response, Error> {
        let deliveries = Arc::new(CallDeliveries::new(outbox, &self.0.limits));
        let feed = DeliveryFeed(Arc::clone(&deliveries));
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        self.queue(OutgoingMessage::Call { id, method, params, about, feed }).await?;
        let unanswered = guard(id, |id| {
            deliveries.close();
            // Sending fails only if the connection is gone, and then nobody needs the report.
            let _ = self.0.reports.send(ConnectionReport::Dropped { id });
        });
        let outcome = deliveries.run().await;
        ScopeGuard::into_inner(unanswered);
        outcome.map(Response::new)
    }

    async fn queue(&self, message: OutgoingMessage) -> Result<(), Error> {
        self.0.messages.send(message).await.map_err(|_| closed())
    }
}

impl Service<Request> for Wire {
    type Future = BoxFuture<'static, Result<Response, Error>>;

    mgp_types::always_ready!();

    fn call(&mut self, request: Request) -> Self::Future {
        self.clone().send(StreamId::STANDALONE, request)
    }
}

impl OutboxPort for Wire {
    fn notify(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<(), Error>> {
        let Request { method, params, context, .. } = request;
        let about = about::own(&method, &context.outbox);
        let message = OutgoingMessage::Notify { stream, about, method, params };
        // With room in the queue there is no wait, and a future without a wait costs nothing.
        match self.0.messages.try_send(message) {
            Ok(()) => sent(),
            Err(TrySendError::Full(message)) => Box::pin(self.queue(message)),
            Err(TrySendError::Closed(_)) => Box::pin(std::future::ready(Err(closed()))),
        }
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.clone().send(stream, request)
    }
}

mgp_types::partial_debug!(Wire, self => closed: self.is_closed());

fn closed() -> Error {
    Error::disconnected("the connection is closed")
}

/// The waiter for an answer of the peer.
pub(super) struct Waiter {
    pub(super) method: Method,
    pub(super) feed: DeliveryFeed,
}

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

/// Awaits the work on one request, in a task of its own, and reports its outcome. There always is one: a task that is
/// dropped without one, because the handler panicked, still answers the peer.
pub(super) fn report_outcome(
    id: Id,
    stream: StreamId,
    work: BoxFuture<'static, Result<Response, Error>>,
    reports: mpsc::UnboundedSender<ConnectionReport>,
) -> impl Future<Output = ()> + Send {
    let unanswered = Err(Error::internal("the request handler stopped without an answer"));
    let mut outcome = guard(unanswered, move |outcome| {
        // Sending fails only if the connection is gone, and then nobody needs the report.
        let _ = reports.send(ConnectionReport::Done { id, stream, outcome });
    });
    async move { *outcome = work.await }
}
