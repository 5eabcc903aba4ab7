//! Messages about a call: on our side its stream stands for the id that the peer sees.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_types::mgp::{StreamCancelled, method, written};
use mgp_types::{CallSide, Id, Method, Outbox, Params, RpcService, StreamId, frame};

use super::WriteBuffer;
use super::incoming::IncomingDispatcher;
use crate::about::{self, PeerCallName, take_id};
use crate::deliveries::PeerOutcome;

impl<S: RpcService> IncomingDispatcher<S> {
    /// Returns the id of our call that has `stream`.
    pub(super) fn id_of_ours(&self, stream: StreamId) -> Option<i64> {
        if stream == StreamId::STANDALONE {
            return None;
        }
        self.waiting.find_ours(|waiter| waiter.feed.0.outbox().stream() == stream)
    }

    /// Returns the way back on the stream of the peer's call that a message names; `None` if it names no call.
    pub(super) fn theirs(&self, params: &mut Params) -> Option<Outbox> {
        let id = take_id(params)?;
        let stream = self.waiting.theirs.get(&id).map_or(StreamId::STANDALONE, |work| work.stream);
        Some(self.way_back(stream))
    }

    /// Handles a notification that took `bytes` bytes on the wire. One for a followed call goes to the caller, any
    /// other to the service.
    pub(super) fn deliver_notification(
        &mut self,
        method: Method,
        mut params: Params,
        bytes: usize,
        cx: &mut Context<'_>,
    ) {
        let outbox = match method.about_call() {
            None => {
                let waiter = about::subscription(&params).and_then(|id| self.waiting.waiter(&id));
                let listener = waiter.filter(|waiter| waiter.method == Method::LISTEN);
                let followed = listener.map(|waiter| &waiter.feed.0);
                if let Some(call) = followed.filter(|call| call.outbox().is_open()) {
                    about::take_subscription_out(&mut params);
                    return self.stalls.put(call, method, params, bytes);
                }
                Outbox::CLOSED
            }
            Some(CallSide::Sender) => match self.theirs(&mut params) {
                Some(outbox) => outbox,
                None => return tracing::debug!(%method, "dropping a notification that names no call"),
            },
            Some(CallSide::Receiver) => {
                let asks = method == *method::CALLBACK_REQUEST;
                let name = PeerCallName::of(&params);
                let id = name.as_ref().and_then(PeerCallName::id);
                let call = id.and_then(|id| self.waiting.waiter(&id)).map(|waiter| &waiter.feed.0);
                if call.is_none() && !asks {
                    return tracing::debug!(%method, "dropping a notification about a call nobody waits for");
                }
                if let Some(name) = name {
                    name.take_out(&mut params);
                }
                match call {
                    Some(call) if call.outbox().is_open() && !asks => {
                        return self.stalls.put(call, method, params, bytes);
                    }
                    Some(call) if call.outbox().is_open() => call.outbox().clone(),
                    Some(call) => self.way_back(call.outbox().stream()),
                    None => self.way_back(StreamId::STANDALONE),
                }
            }
        };
        self.notified(method, params, outbox, cx);
    }

    /// Returns ready when frames may be read. A caller that takes too long loses its call; then the value is true, as
    /// after any wait: a message may have been written.
    #[inline]
    pub(super) fn poll_stalls(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.stalls.is_reading() {
            return Poll::Ready(false);
        }
        if let Err(failed) = ready!(self.stalls.poll(cx))
            && let Some(id) = self.waiting.find_ours(|waiter| Arc::ptr_eq(&waiter.feed.0, &failed))
        {
            self.take_back(id);
        }
        Poll::Ready(true)
    }

    fn way_back(&self, stream: StreamId) -> Outbox {
        self.port.as_ref().map_or_else(|| Outbox::on(stream), |port| Outbox::new(Arc::clone(port), stream))
    }
}

/// Writes a notification about the call `id`; drops it if the call is over.
pub(super) fn write_about(id: Option<&Id>, method: &Method, params: &Params, writes: &mut WriteBuffer) {
    let Some(id) = id else {
        return tracing::debug!(%method, "dropping a message about a call that is over");
    };
    writes.message(|out| frame::write_notification_about(out, method, id, params));
}

/// Returns the answer to a cancellation of a call that is over.
pub(super) fn not_active() -> PeerOutcome {
    written(&StreamCancelled::not_active())
}
