//! The calls of one session that are in work: bounded in number, found and cancelled by their ids, each with its way back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mgp_types::{
    BoxFuture, CallSide, Error, Id, Outbox, OutboxPort, Params, Request, Response, StreamId, code,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::session::HttpSession;
use super::stream::ResponseStream;
use crate::about::{UNNAMED, take_id};
use crate::sent_future::SentFuture;

/// The calls in work, as a slab: entering and leaving cost a few instructions, and only the rare search walks it.
pub(super) struct InFlightCalls {
    max: usize,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    entries: Vec<Option<(Id, CallPort)>>,
    free: Vec<usize>,
}

/// The way to a call in work: to its client, and to itself when it has to stop.
#[derive(Clone)]
pub(super) enum CallPort {
    /// The reader of the call's stream polls it.
    Stream(Arc<ResponseStream>),
    /// The call runs in a task of its own, and writes to a stream that it shares.
    Task(Arc<SharedStreamPort>),
}

impl CallPort {
    fn cancel(self) {
        match self {
            Self::Stream(stream) => stream.cancel(),
            Self::Task(way) => way.stop(),
        }
    }

    /// Returns the stream that the call writes to.
    fn stream(&self) -> &Arc<ResponseStream> {
        match self {
            Self::Stream(stream) => stream,
            Self::Task(way) => way.stream(),
        }
    }

    fn outbox(&self) -> Outbox {
        match self {
            Self::Stream(stream) => stream.outbox(),
            Self::Task(way) => way.outbox(),
        }
    }
}

impl InFlightCalls {
    pub(super) fn new(max: usize) -> Self {
        Self { max, slots: Mutex::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        let slots = self.slots.lock();
        slots.entries.len() == slots.free.len()
    }

    /// Cancels the call with this id, if it is in work.
    pub(super) fn cancel(&self, id: &Id) {
        let mut slots = self.slots.lock();
        let entry = slots.entries.iter_mut().flatten().find(|(known, _)| known == id);
        // The entry stays, because it belongs to the call until the call is dropped; a second cancel does no harm.
        let port = entry.map(|(_, port)| port.clone());
        drop(slots);
        if let Some(port) = port {
            port.cancel();
        }
    }

    /// Returns the outbox of the call with this id, if it is in work.
    pub(super) fn outbox(&self, id: &Id) -> Option<Outbox> {
        let slots = self.slots.lock();
        let mut entries = slots.entries.iter().flatten();
        entries.find(|(known, _)| known == id).map(|(_, port)| port.outbox())
    }

    pub(super) fn cancel_all(&self) {
        let ids: Vec<Id> = self.slots.lock().entries.iter().flatten().map(|(id, _)| id.clone()).collect();
        for id in &ids {
            self.cancel(id);
        }
    }
}

/// A call in work. Dropping it removes the entry.
pub(super) struct InFlightCall {
    session: Arc<HttpSession>,
    slot: usize,
}

impl InFlightCall {
    /// Enters a call, and gives its request the way back to the client: on the call's own stream, or on that of the call
    /// that the request names.
    ///
    /// # Errors
    /// The request has to name a call and does not, the id is in use, or too many calls are in work.
    pub(super) fn enter(
        session: &Arc<HttpSession>,
        id: &Id,
        request: &mut Request,
        port: CallPort,
    ) -> Result<Self, Error> {
        let is_about = request.method.about_call() == Some(CallSide::Sender);
        let named = if is_about { named(&mut request.params, Some(session))? } else { None };
        request.context.outbox = match named {
            Some(named) => named,
            None if is_about => port.stream().standalone_outbox(),
            None => port.outbox(),
        };
        let mut slots = session.calls.slots.lock();
        if slots.entries.len() - slots.free.len() >= session.calls.max {
            return Err(Error::new(code::RESOURCE_EXHAUSTED, "too many calls are in work"));
        }
        if slots.entries.iter().flatten().any(|(known, _)| known == id) {
            return Err(Error::invalid_request("the id is that of a call in work"));
        }
        let entry = Some((id.clone(), port));
        let slot = if let Some(slot) = slots.free.pop() {
            slots.entries[slot] = entry;
            slot
        } else {
            slots.entries.push(entry);
            slots.entries.len() - 1
        };
        drop(slots);
        Ok(Self { session: Arc::clone(session), slot })
    }
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        let mut slots = self.session.calls.slots.lock();
        let entry = slots.entries[self.slot].take();
        slots.free.push(self.slot);
        drop(slots);
        if let Some((_, CallPort::Task(way))) = &entry {
            way.end();
        }
        drop(entry);
        self.session.touch();
    }
}

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

    /// Returns the stream that the call shares.
    pub(super) fn stream(&self) -> &Arc<ResponseStream> {
        &self.stream
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

/// Returns the outbox of the call of the session that a message names in its parameters; `None` if there is no such
/// call in work. Without a session every message stands alone, so there never is one.
///
/// # Errors
/// -32602 if the message names no call.
pub(super) fn named(params: &mut Params, session: Option<&HttpSession>) -> Result<Option<Outbox>, Error> {
    let id = take_id(params).ok_or_else(|| Error::invalid_params(UNNAMED))?;
    Ok(session.and_then(|session| session.calls.outbox(&id)))
}
