//! The monitor of one call: signs of life, questions to its caller, and messages that its caller has in hand already.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::mgp::method as mgp;
use mgp_types::{BoxFuture, Error, Method, Outbox, OutboxPort, Request, Response, StreamId};
use tokio::time::Instant;

use super::deadline::{Asked, CallTime, Signs};
use crate::span::nanos;

/// Sees the messages that a server sends about one call: it is the call's outbox, so they pass by.
///
/// Where the call has a budget of time, the monitor is the extension of its request that holds the deadline.
pub(super) struct CallMonitor {
    /// The receiver of messages about the call; `None` if the caller wants none.
    port: Option<Arc<dyn OutboxPort>>,
    /// The time since which signs of life are heard, if anything depends on them.
    heard_since: Option<Instant>,
    /// The time of the last sign of life, in nanoseconds since `heard_since`.
    last_sign_nanos: AtomicU64,
    has_shown: AtomicBool,
    asked: Asked,
    time: Option<CallTime>,
    /// The monitor further out, whose time does not run either while somebody is asked.
    outer: Option<Arc<Self>>,
}

/// The place of a [`CallMonitor`] in the outbox of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// The outbox stays as it is.
    Nothing,
    /// The monitor stands in an outbox that is open, and sees whether the caller is shown something.
    Caller,
    /// The monitor stands in the outbox whether it is open or not, and hears signs of life.
    Server { since: Instant },
}

impl CallMonitor {
    /// Begins to watch a call. A call that has a `time` carries the monitor as its deadline.
    pub(super) fn begin(request: &mut Request, watch: Watch, time: Option<CallTime>) -> Arc<Self> {
        let heard_since = if let Watch::Server { since } = watch { Some(since) } else { None };
        let outbox = (watch != Watch::Nothing).then(|| std::mem::take(&mut request.context.outbox));
        let stream = outbox.as_ref().map(Outbox::stream);
        let monitor = Arc::new(Self {
            port: outbox.and_then(Outbox::into_parts).map(|(port, _)| port),
            heard_since,
            last_sign_nanos: AtomicU64::new(0),
            has_shown: AtomicBool::new(false),
            asked: Asked::default(),
            time,
            outer: stream.and_then(|_| request.extensions.get_shared()),
        });
        if let Some(stream) = stream {
            let is_new = heard_since.is_some() && stream == StreamId::STANDALONE;
            let stream = if is_new { StreamId::fresh() } else { stream };
            request.context.outbox = Outbox::new(Arc::clone(&monitor) as Arc<dyn OutboxPort>, stream);
        }
        if time.is_some() {
            request.extensions.insert_shared(Arc::clone(&monitor));
        }
        monitor
    }

    /// Begins to watch whether the caller is shown something. An outbox that leads nowhere is not watched, and nothing is
    /// allocated.
    pub(super) fn of_caller(request: &mut Request) -> Option<Arc<Self>> {
        let is_open = request.context.outbox.is_open();
        is_open.then(|| Self::begin(request, Watch::Caller, None))
    }

    /// Returns whether the caller was shown parts of a result or asked something. Such a call is not made again: the
    /// caller would get the parts twice, or be asked twice.
    pub(super) fn has_shown(&self) -> bool {
        self.has_shown.load(Ordering::Relaxed)
    }

    /// Returns the signs of life until `now`.
    pub(super) fn signs(&self, now: Instant) -> Signs {
        let last_sign = Duration::from_nanos(self.last_sign_nanos.load(Ordering::Relaxed));
        Signs { last: self.heard_since.map(|since| since + last_sign), asked: self.asked.until(now) }
    }

    /// Returns the end of a call that has a budget, as far as can be said at `now`.
    pub(super) fn end_of_call(&self, now: Instant) -> Option<Instant> {
        self.time.map(|time| time.end(self.asked.until(now)))
    }

    /// Returns when to look again whether a call that has a budget is over.
    pub(super) fn next_look(&self, now: Instant) -> Option<Instant> {
        self.time.map(|time| time.next_look(self.asked.until(now), now))
    }

    /// Returns the monitor and those further out.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |monitor| monitor.outer.as_deref())
    }

    fn note_sign(&self) {
        if let Some(since) = self.heard_since {
            self.last_sign_nanos.fetch_max(nanos(since.elapsed()), Ordering::Relaxed);
        }
    }
}

impl OutboxPort for CallMonitor {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        let method = &notification.method;
        if method.is_about_a_call() || *method == Method::PROGRESS {
            self.note_sign();
        }
        let Some(port) = &self.port else { return Box::pin(ready(Ok(()))) };
        if *method == Method::STREAM_CHUNK || *method == *mgp::CALLBACK_REQUEST {
            self.has_shown.store(true, Ordering::Relaxed);
        }
        port.notify(stream, notification)
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        let Some(port) = &self.port else {
            return Box::pin(ready(Err(Error::invalid_request("the caller cannot be asked"))));
        };
        self.has_shown.store(true, Ordering::Relaxed);
        self.chain().for_each(|monitor| monitor.asked.begin());
        let question = OpenQuestion(self);
        Box::pin(async move {
            let _question = question;
            port.call(stream, request).await
        })
    }
}

mgp_types::partial_debug!(CallMonitor, self => time: self.time);

/// A question that waits for its answer. Meanwhile no time runs.
struct OpenQuestion<'a>(&'a CallMonitor);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.note_sign();
        self.0.chain().for_each(|monitor| monitor.asked.end());
    }
}
