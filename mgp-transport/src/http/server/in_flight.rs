//! The calls of one session that are in work: bounded in number, found and cancelled by their ids, each with its way back.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::fast::RandomState;
use mgp_types::{
    BoxFuture, CallSide, Error, Id, Outbox, OutboxPort, Params, Request, Response, StreamId, code,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::config::HttpConfig;
use super::session::HttpSession;
use super::stream::ResponseStream;
use crate::about::{UNNAMED, take_id};
use crate::sent_future::sent;

/// The calls in work, by their ids. An entry belongs to its call until the call is dropped.
pub(super) struct InFlightCalls {
    max: usize,
    open: Mutex<HashMap<Id, CallPort, RandomState>>,
    /// The ids that calls have had, where none may have that of another one.
    used: Option<Mutex<UsedIds>>,
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
            Self::Task(way) => way.stop.notify_one(),
        }
    }

    /// Returns the stream that the call writes to.
    fn stream(&self) -> &Arc<ResponseStream> {
        match self {
            Self::Stream(stream) => stream,
            Self::Task(way) => &way.stream,
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
    pub(super) fn new(config: &HttpConfig) -> Self {
        let used = config.unique_ids.then(Mutex::default);
        Self { max: config.limits.max_in_flight, open: Mutex::default(), used }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.lock().is_empty()
    }

    /// Cancels the call with this id, if it is in work; a second time does no harm.
    pub(super) fn cancel(&self, id: &Id) {
        let port = self.open.lock().get(id).cloned();
        if let Some(port) = port {
            port.cancel();
        }
    }

    /// Returns the outbox of the call with this id, if it is in work.
    pub(super) fn outbox(&self, id: &Id) -> Option<Outbox> {
        self.open.lock().get(id).map(CallPort::outbox)
    }

    pub(super) fn cancel_all(&self) {
        let ports: Vec<_> = self.open.lock().values().cloned().collect();
        ports.into_iter().for_each(CallPort::cancel);
    }
}

/// A call in work. Dropping it removes the entry.
pub(super) struct InFlightCall {
    session: Arc<HttpSession>,
    id: Id,
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
        let mut open = session.calls.open.lock();
        if open.len() >= session.calls.max {
            return Err(Error::new(code::RESOURCE_EXHAUSTED, "too many calls are in work"));
        }
        if open.contains_key(id) {
            return Err(Error::invalid_request("the id is that of a call in work"));
        }
        if session.calls.used.as_ref().is_some_and(|used| !used.lock().take(id)) {
            return Err(Error::invalid_request("the id is that of an earlier call, or no number from 1 on"));
        }
        open.insert(id.clone(), port);
        drop(open);
        Ok(Self { session: Arc::clone(session), id: id.clone() })
    }
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        let port = self.session.calls.open.lock().remove(&self.id);
        if let Some(CallPort::Task(way)) = &port {
            way.over.store(true, Ordering::Release);
        }
        drop(port);
        self.session.touch();
    }
}

/// The ids that calls of one session have had: all numbers up to the largest one but those that are free.
#[derive(Debug, Default)]
struct UsedIds {
    largest: i64,
    free: BTreeSet<i64>,
}

impl UsedIds {
    /// Takes an id, and returns whether it was free.
    fn take(&mut self, id: &Id) -> bool {
        let Id::Number(id) = *id else { return false };
        if id <= self.largest {
            return self.free.remove(&id);
        }
        self.free.extend((id - i64::from(MAX_FREE)).max(self.largest + 1)..id);
        self.largest = id;
        while self.free.len() > usize::from(MAX_FREE) {
            self.free.pop_first();
        }
        true
    }
}

/// The number of free ids that a session keeps for calls which other calls overtook; smaller ones are used up.
const MAX_FREE: u16 = 4096;

/// The way back of one call among others that write to the same stream: those of a batch, and all of HTTP+SSE.
pub(super) struct SharedStreamPort {
    /// The call's stream on our side of the connection, and its id on the peer's.
    call: (StreamId, Id),
    stream: Arc<ResponseStream>,
    session: Arc<HttpSession>,
    /// Signals that the call is to be dropped.
    pub(super) stop: Notify,
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
}

impl OutboxPort for SharedStreamPort {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method.about_call() != Some(CallSide::Receiver) {
            return self.stream.notify(stream, notification);
        }
        let (own, id) = &self.call;
        if *own != stream || self.over.load(Ordering::Acquire) {
            tracing::debug!(method = %notification.method, "dropping a message about a call that is over");
            return sent();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_taken_once_and_never_if_far_larger_ones_were() {
        let mut used = UsedIds::default();
        let mut take = |id: &i64| used.take(&Id::Number(*id));
        let mut taken = |ids: &[i64]| ids.iter().map(&mut take).collect::<Vec<_>>();
        assert_eq!(taken(&[2, 2, 1, 1, 0, -1]), [true, false, true, false, false, false]);
        let far = 2 + 2 * i64::from(MAX_FREE);
        let oldest = far - i64::from(MAX_FREE);
        assert_eq!(taken(&[far, oldest - 1, oldest, oldest]), [true, false, true, false]);
        assert_eq!(taken(&[i64::MAX, far - 1, i64::MAX - 1]), [true, false, true]);
        assert!(!used.take(&Id::Text("7".into())), "what does not rise cannot be told from what was");
    }
}
