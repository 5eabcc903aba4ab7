//! The time of a call: its deadline, the limit of each attempt, and the monitor of its signs of life.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::mgp::{CallOptions, method as mgp};
use mgp_types::{BoxFuture, Error, Method, Outbox, OutboxPort, Request, Response, StreamId};
use parking_lot::Mutex;
use scopeguard::guard;
use tokio::time::Instant;

use crate::span::{LONGEST, nanos};

/// The time after which nobody waits for a call any more: an extension of its request.
///
/// Callers may attach one. [`SendingLayer`](super::SendingLayer) enforces it and attaches what holds in the end; layers further
/// in read it, so that no retry begins that could not end in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// The deadline at this moment.
    pub const fn at(moment: Instant) -> Self {
        Self(moment)
    }

    /// The deadline that is attached to a request, as far as can be said now.
    pub fn of(request: &Request) -> Option<Self> {
        Attached::to(request).map(|attached| Self(attached.end(Instant::now())))
    }

    /// Returns the time until the deadline; zero if it is past.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// The deadline of a request, for readers that come later, if at all.
#[derive(Debug, Clone)]
pub(super) enum Attached {
    /// The deadline moves while somebody is asked.
    Moving(Arc<CallMonitor>),
    /// The deadline stays where it is.
    Fixed(Deadline),
}

impl Attached {
    /// Returns the deadline that is attached to a request.
    pub(super) fn to(request: &Request) -> Option<Self> {
        let moving = request.extensions.get_shared().map(Self::Moving);
        moving.or_else(|| request.extensions.get().copied().map(Self::Fixed))
    }

    /// Returns the end of the call, as far as can be said at `now`.
    pub(super) fn end(&self, now: Instant) -> Instant {
        match self {
            Self::Moving(monitor) => monitor.time.map_or(now, |time| time.end(monitor.asked.until(now))),
            Self::Fixed(deadline) => deadline.0,
        }
    }

    /// Returns how long it is from `now` to the end.
    pub(super) fn left(&self, now: Instant) -> Duration {
        self.end(now).saturating_duration_since(now)
    }

    /// Returns when to look again whether the call is over; it is over where that is not after `now`.
    pub(super) fn next_look(&self, now: Instant) -> Instant {
        match self {
            Self::Moving(monitor) => {
                monitor.time.map_or(now, |time| time.next_look(monitor.asked.until(now), now))
            }
            Self::Fixed(deadline) => deadline.0,
        }
    }
}

/// The time of a call that has a budget: a value without a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallTime {
    /// The time at which the call ends if nobody is asked anything.
    pub(super) budget_end: Instant,
    /// The time at which the call ends in any case, because nobody waits for it any more.
    pub(super) last_moment: Option<Instant>,
}

impl CallTime {
    /// Returns the end of the call, of which the time that `asked` counts is no part.
    pub(super) fn end(self, asked: AskedTime) -> Instant {
        let end = self.budget_end + asked.total;
        self.last_moment.map_or(end, |last| last.min(end))
    }

    /// Returns when to look again whether the call is over.
    pub(super) fn next_look(self, asked: AskedTime, now: Instant) -> Instant {
        let end = self.end(asked);
        let is_extended = asked.is_open && self.last_moment != Some(end);
        if is_extended { end.max(now + BETWEEN_LOOKS) } else { end }
    }
}

/// The time for which a call may go on after its deadline because people were asked until a moment ago.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Finds out when a call that begins at `now` ends: after `budget`, or at the deadline that the request says, if that comes
/// before. A call that lasts as long as a subscription or a task has no budget, and the longest budget is none. The wish in
/// `_mgp.deadline_ms` is taken out of the parameters.
pub(super) fn term(
    budget: Duration,
    request: &mut Request,
    now: Instant,
) -> (Option<CallTime>, Option<Attached>) {
    let budget_end = (budget < LONGEST && !request.is_open_ended()).then(|| now + budget);
    let wished = take_wish(request).map(|wished| now + wished.min(LONGEST));
    let attached = Attached::to(request).map(|attached| (attached.end(now), attached));
    let attached_end = attached.as_ref().map(|(end, _)| *end);
    let said = wished.into_iter().chain(attached_end).min();
    match (budget_end, said) {
        (Some(budget_end), last_moment) if last_moment.is_none_or(|last| budget_end < last) => {
            (Some(CallTime { budget_end, last_moment }), None)
        }
        (_, Some(said)) => match attached {
            Some((end, attached)) if end == said => (None, Some(attached)),
            _ => {
                request.extensions.insert(Deadline(said));
                (None, Some(Attached::Fixed(Deadline(said))))
            }
        },
        (_, None) => (None, None),
    }
}

/// Takes the time that a caller wishes to wait out of the parameters.
fn take_wish(request: &mut Request) -> Option<Duration> {
    if !request.params.contains("_mgp") {
        return None;
    }
    let mut wishes = CallOptions::of(&request.params);
    let millis = wishes.deadline_ms.take()?;
    wishes.write(&mut request.params);
    Some(Duration::from_millis(millis))
}

/// The time for which the server of a call waited for answers to questions of its own.
#[derive(Debug, Default)]
pub(super) struct Asked(Mutex<AskedState>);

#[derive(Debug, Default)]
struct AskedState {
    /// The number of answers for which the server waits now.
    open: u32,
    /// The time since which the server waits for any.
    since: Option<Instant>,
    /// The time for which the server waited for earlier questions of the call.
    before: Duration,
}

impl Asked {
    /// A question begins to wait for its answer.
    pub(super) fn begin(&self) {
        let mut state = self.0.lock();
        state.open += 1;
        state.since.get_or_insert_with(Instant::now);
    }

    /// A question that [began](Self::begin) waits no longer.
    pub(super) fn end(&self) {
        let mut state = self.0.lock();
        state.open = state.open.saturating_sub(1);
        if state.open == 0
            && let Some(since) = state.since.take()
        {
            state.before += since.elapsed();
        }
    }

    /// Returns how long it waited until `now`.
    pub(super) fn until(&self, now: Instant) -> AskedTime {
        let state = self.0.lock();
        let since = state.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        AskedTime { total: state.before + since, is_open: state.open > 0 }
    }
}

/// The time that an [`Asked`] has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AskedTime {
    pub(super) total: Duration,
    /// True if somebody is asked just now.
    pub(super) is_open: bool,
}

/// The time limit of an attempt: a value without a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AttemptLimit {
    timeout: Duration,
    max_timeout: Duration,
}

/// The signs of life that a server has given about an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signs {
    /// The time at which the last sign of life came.
    pub(super) last: Option<Instant>,
    /// The time for which the server waited for answers to its own questions.
    pub(super) asked: AskedTime,
}

impl AttemptLimit {
    /// Limits an attempt to `timeout` without a sign of life, and to `max_timeout` in all, which is no less.
    pub(super) fn new(timeout: Duration, max_timeout: Duration) -> Self {
        let timeout = timeout.min(LONGEST);
        Self { timeout, max_timeout: max_timeout.clamp(timeout, LONGEST) }
    }

    /// Returns when an attempt is over that began at `began`, unless there are further signs of life.
    pub(super) fn end(self, began: Instant, signs: Option<Signs>, now: Instant) -> Instant {
        let Some(Signs { last, asked }) = signs else { return began + self.timeout };
        let last = if asked.is_open { now } else { last.map_or(began, |last| last.max(began)) };
        let end = (last + self.timeout).min(began + self.max_timeout + asked.total);
        if asked.is_open { end.max(now + self.timeout / LOOKS) } else { end }
    }
}

/// The number of times, within one time limit, that an attempt checks if the server still waits for somebody else.
const LOOKS: u32 = 16;

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
        // While the question waits for its answer, no time runs.
        let question = guard(self, |monitor| {
            monitor.note_sign();
            monitor.chain().for_each(|monitor| monitor.asked.end());
        });
        Box::pin(async move {
            let _question = question;
            port.call(stream, request).await
        })
    }
}

mgp_types::partial_debug!(CallMonitor, self => time: self.time);

#[cfg(test)]
mod attempt_tests;
#[cfg(test)]
mod tests;
