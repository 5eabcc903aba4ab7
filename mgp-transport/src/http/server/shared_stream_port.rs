//! The way back of a call that shares its stream with others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mgp_types::{BoxFuture, CallSide, Error, Id, Outbox, OutboxPort, Request, Response, StreamId};
use tokio::sync::Notify;

use super::session::HttpSession;
use super::stream::ResponseStream;
use crate::sent_future::SentFuture;

/// The way back of one call among others that write to the same stream: those of a batch, and all of HTTP+SSE.
pub(super) struct SharedStreamPort {
    /// The call's stream on our side of the connection, and its id on the peer's.
    call: (StreamId, Id),
    stream: Arc<ResponseStream>,
    session: Arc<HttpSession>,
    stop: Notify,
    /// True if the call is over; the stream may go on without messages about it.
    over: AtomicBool,
}

impl SharedStreamPort {
    pub(super) fn new(id: Id, stream: &Arc<ResponseStream>, session: &Arc<HttpSession>) -> Arc<Self> {
        Arc::new(Self {
            call: (StreamId::fresh(), id),
            stream: Arc::clone(stream),
            session: Arc::clone(session),
            stop: Notify::new(),
            over: AtomicBool::new(false),
        })
    }

    /// Returns the way as the outbox of its call.
    pub(super) fn outbox(self: &Arc<Self>) -> Outbox {
        Outbox::new(Arc::clone(self) as _, self.call.0)
    }

    /// Asks for the call to be dropped.
    pub(super) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Returns when the call is to be dropped.
    pub(super) async fn stopped(&self) {
        self.stop.notified().await;
    }

    /// Notes that the call is over.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }
}

impl OutboxPort for SharedStreamPort {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method.about_call() != Some(CallSide::Receiver) {
            return self.stream.notify(stream, notification);
        }
        let (own, id) = &self.call;
        if *own != stream || self.over.load(Ordering::Acquire) {
            tracing::debug!(method = %notification.method, "dropping a message about a call that is over");
            return Box::pin(SentFuture);
        }
        self.stream.notify_about(id, &notification)
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.session.ask(&self.stream, request))
    }
}
