use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Kind, Method, OutboxPort, Params, Request, Response, StreamId};
use tokio::sync::{mpsc, oneshot};
use tower_service::Service;

use super::task::Report;

/// The way to the peer of a connection: a service that sends requests and yields the answers.
///
/// Clones share the connection. Dropping the future of a call takes the request back: the peer is told
/// with `notifications/cancelled`, and a late answer is ignored.
#[derive(Clone)]
pub struct Wire(Arc<Shared>);

struct Shared {
    /// Messages to write. Bounded: senders wait for room.
    messages: mpsc::Sender<Outgoing>,
    /// Where calls that were dropped are reported.
    reports: mpsc::UnboundedSender<Report>,
    next_id: AtomicI64,
}

/// A message on its way out.
pub(super) enum Outgoing {
    Notify { stream: StreamId, method: Method, params: Params },
    Call { id: i64, method: Method, params: Params, waiter: oneshot::Sender<Result<Response, Error>> },
}

impl Wire {
    pub(super) fn new(messages: mpsc::Sender<Outgoing>, reports: mpsc::UnboundedSender<Report>) -> Self {
        Self(Arc::new(Shared { messages, reports, next_id: AtomicI64::new(1) }))
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.0.messages.is_closed()
    }

    /// Waits until the connection has ended.
    pub async fn closed(&self) {
        self.0.messages.closed().await;
    }

    async fn send(self, stream: StreamId, request: Request) -> Result<Response, Error> {
        let Request { kind, method, params, .. } = request;
        if kind == Kind::Notify {
            let message = Outgoing::Notify { stream, method, params };
            self.0.messages.send(message).await.map_err(|_| closed())?;
            return Ok(Response::empty());
        }
        let (waiter, reply) = oneshot::channel();
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        self.0.messages.send(Outgoing::Call { id, method, params, waiter }).await.map_err(|_| closed())?;
        Answer { wire: &self.0, id, reply }.await
    }
}

impl Service<Request> for Wire {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Box::pin(self.clone().send(StreamId::STANDALONE, request))
    }
}

impl OutboxPort for Wire {
    fn notify(&self, stream: StreamId, mut notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        notification.kind = Kind::Notify;
        let sent = self.clone().send(stream, notification);
        Box::pin(async { sent.await.map(|_| ()) })
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.clone().send(stream, request))
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("closed", &self.is_closed()).finish()
    }
}

/// Waits for the answer under `id`; tells the connection when nobody waits any more.
struct Answer<'a> {
    wire: &'a Shared,
    id: i64,
    reply: oneshot::Receiver<Result<Response, Error>>,
}

impl Future for Answer<'_> {
    type Output = Result<Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.reply).poll(cx).map(|answer| answer.unwrap_or_else(|_| Err(closed())))
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        if !self.reply.is_terminated() {
            // Fails only if the connection is gone, and then there is nobody to tell.
            let _ = self.wire.reports.send(Report::Dropped { id: self.id });
        }
    }
}

pub(super) fn closed() -> Error {
    Error::disconnected("the connection is closed")
}
