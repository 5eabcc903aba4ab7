//! The queue of the peer's messages about one call of ours, from the connection to the caller.
//!
//! The connection, which many calls share, fills the queue. The future that waits for the answer empties it: it hands
//! the messages to the outbox of the call one after the other, and gets the answer when all of them are delivered.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use mgp_types::{Error, Method, Outbox, Params, RawJson, Request, code};
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep, sleep};

use crate::ConnectionLimits;

/// The peer's answer.
pub(crate) type PeerOutcome = Result<RawJson, Error>;

/// The messages about one call that its caller has not taken yet, and the answer behind them.
pub(crate) struct CallDeliveries {
    outbox: Outbox,
    max_messages: usize,
    max_bytes: usize,
    state: Mutex<DeliveriesState>,
}

struct DeliveriesState {
    waiting: VecDeque<Delivery>,
    bytes: usize,
    progress: AnswerState,
    /// The time for which this call may still keep the connection from reading.
    patience: StallAllowance,
    /// The waker of the caller, for new messages.
    caller: AtomicWaker,
    /// The waker of the connection, for new room.
    connection: AtomicWaker,
}

struct Delivery {
    method: Method,
    params: Params,
    bytes: usize,
}

enum AnswerState {
    /// More messages may come.
    Open,
    /// The answer came; the caller gets it after the waiting messages.
    Answered(PeerOutcome),
    /// The call failed for good: no message is delivered any more.
    Failed(Error),
    /// The caller no longer waits.
    Over,
}

impl CallDeliveries {
    pub(crate) fn new(outbox: Outbox, limits: &ConnectionLimits) -> Self {
        Self {
            outbox,
            max_messages: limits.max_undelivered,
            max_bytes: limits.max_undelivered_bytes,
            state: Mutex::new(DeliveriesState {
                waiting: VecDeque::new(),
                bytes: 0,
                progress: AnswerState::Open,
                patience: StallAllowance::new(limits.delivery_timeout),
                caller: AtomicWaker::new(),
                connection: AtomicWaker::new(),
            }),
        }
    }

    /// Returns the outbox of the call.
    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Adds a message that took `bytes` bytes on the wire, and returns whether there is room for more. There is always a
    /// place for the message itself.
    fn put(&self, method: Method, params: Params, bytes: usize) -> bool {
        let mut state = self.state.lock();
        if !matches!(state.progress, AnswerState::Open) {
            return true;
        }
        let bytes = bytes + PLACE_BYTES;
        state.waiting.push_back(Delivery { method, params, bytes });
        state.bytes += bytes;
        state.caller.wake();
        state.waiting.len() < self.max_messages && state.bytes < self.max_bytes
    }

    /// Notes the answer, which the caller gets after all messages before it.
    pub(crate) fn answer(&self, outcome: PeerOutcome) {
        let mut state = self.state.lock();
        if let AnswerState::Open = state.progress {
            state.progress = AnswerState::Answered(outcome);
        }
        state.caller.wake();
        state.connection.wake();
    }

    /// Ends the queue, because the caller no longer waits for the answer.
    pub(crate) fn close(&self) {
        self.end(AnswerState::Over);
    }

    /// Ends the queue at once: the messages in it are not delivered.
    fn end(&self, end: AnswerState) {
        let mut state = self.state.lock();
        let dropped = (std::mem::take(&mut state.waiting), std::mem::replace(&mut state.progress, end));
        state.caller.wake();
        state.connection.wake();
        drop(state);
        drop(dropped);
    }

    /// Delivers the messages as they come, and returns the answer behind them. A call awaits this once.
    pub(crate) async fn run(&self) -> PeerOutcome {
        while let Some(Delivery { method, params, .. }) = poll_fn(|cx| self.poll_next(cx)).await {
            let mut delivered = pin!(self.outbox.notify(Request::notify(method, params)));
            let outcome = poll_fn(|cx| match delivered.as_mut().poll(cx) {
                Poll::Ready(outcome) => Poll::Ready(Ok(outcome)),
                // A call that failed does not wait for a reader who takes no messages.
                Poll::Pending => self.poll_failed(cx).map(Err),
            });
            if let Err(error) = outcome.await? {
                tracing::debug!(%error, "the caller did not take a message about its call");
            }
            // Readers that take every message at once must not keep their task from all other work.
            tokio::task::consume_budget().await;
        }
        let progress = std::mem::replace(&mut self.state.lock().progress, AnswerState::Over);
        match progress {
            AnswerState::Answered(outcome) => outcome,
            AnswerState::Failed(error) => Err(error),
            AnswerState::Open | AnswerState::Over => Err(Error::cancelled()),
        }
    }

    /// Returns the next message; `None` when only the answer is left.
    fn poll_next(&self, cx: &Context<'_>) -> Poll<Option<Delivery>> {
        let mut state = self.state.lock();
        if let Some(next) = state.waiting.pop_front() {
            state.bytes -= next.bytes;
            // A connection that is woken late has something to do at once.
            if self.has_room(&state) {
                state.connection.wake();
            }
            return Poll::Ready(Some(next));
        }
        if let AnswerState::Open = state.progress {
            state.caller.register(cx.waker());
            return Poll::Pending;
        }
        Poll::Ready(None)
    }

    /// Returns ready when a connection that was stopped may go on.
    fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        let state = self.state.lock();
        if self.has_room(&state) {
            drop(state.connection.take());
            return Poll::Ready(());
        }
        state.connection.register(cx.waker());
        Poll::Pending
    }

    fn poll_failed(&self, cx: &Context<'_>) -> Poll<Error> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut state.progress, AnswerState::Over) {
            AnswerState::Failed(error) => Poll::Ready(error),
            progress => {
                state.progress = progress;
                state.caller.register(cx.waker());
                Poll::Pending
            }
        }
    }

    /// Returns whether a connection that was stopped has room to go on. At least half of the room is then free.
    fn has_room(&self, state: &DeliveriesState) -> bool {
        state.waiting.len() <= self.max_messages / 2 && state.bytes <= self.max_bytes / 2
            || !matches!(state.progress, AnswerState::Open)
    }
}

/// The memory that a waiting message takes besides its own bytes.
const PLACE_BYTES: usize = size_of::<Delivery>() + 64;

/// The filling end of the queue. The call ends with it, in whatever way the connection ends.
pub(crate) struct DeliveryFeed(pub(crate) Arc<CallDeliveries>);

impl Drop for DeliveryFeed {
    fn drop(&mut self) {
        let is_open = matches!(self.0.state.lock().progress, AnswerState::Open);
        if is_open {
            self.0.answer(Err(Error::disconnected("the connection is closed")));
        }
    }
}

/// The callers for whom the reader of a stream, or of a whole connection, has to wait before it reads on.
///
/// Each caller has a time limit of its own, so that one slow caller does not spend all the time there is. A limit for
/// the connection covers all callers together, so that many of them cannot stop it for as long as they please. When
/// that limit is spent, the next caller to stop the connection loses its call.
pub(crate) struct ReadStalls {
    patience: StallAllowance,
    stall: Option<ReadStall>,
}

struct ReadStall {
    call: Arc<CallDeliveries>,
    began: Instant,
    limit: Pin<Box<Sleep>>,
}

/// The time limit of all callers together, as a multiple of that of one.
const ALL: u32 = 2;
/// The time that each caller has even after the limits are spent: a caller that had no turn to run yet is not slow.
const TURN: Duration = Duration::from_millis(20);

impl ReadStalls {
    pub(crate) fn new(limits: &ConnectionLimits) -> Self {
        Self { patience: StallAllowance::new(limits.delivery_timeout.saturating_mul(ALL)), stall: None }
    }

    /// Adds a message that took `bytes` bytes on the wire to those of `call`, and stops reading if there is no room for
    /// more.
    pub(crate) fn put(&mut self, call: &Arc<CallDeliveries>, method: Method, params: Params, bytes: usize) {
        if !call.put(method, params, bytes) {
            self.begin(call);
        }
    }

    /// Stops reading until `call` has room; has no effect while reading is stopped already.
    fn begin(&mut self, call: &Arc<CallDeliveries>) {
        if self.stall.is_some() {
            return;
        }
        let began = Instant::now();
        let left = call.state.lock().patience.left(began);
        let limit = left.min(self.patience.left(began)).max(TURN);
        self.stall = Some(ReadStall { call: Arc::clone(call), began, limit: Box::pin(sleep(limit)) });
    }

    /// Returns whether no caller has to catch up.
    #[inline]
    pub(crate) fn is_reading(&self) -> bool {
        self.stall.is_none()
    }

    /// Returns ready when reading may go on. A caller that took too long does not stop it any longer: its call has
    /// failed, and is handed back.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Arc<CallDeliveries>>> {
        let Some(ReadStall { call, began, limit }) = &mut self.stall else { return Poll::Ready(Ok(())) };
        let has_room = call.poll_room(cx).is_ready();
        if !has_room && limit.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let now = Instant::now();
        call.state.lock().patience.spend(*began, now);
        self.patience.spend(*began, now);
        let Some(ReadStall { call, .. }) = self.stall.take().filter(|_| !has_room) else {
            return Poll::Ready(Ok(()));
        };
        tracing::warn!("a call fails because its stream is read too slowly");
        let message = "the reader of this call's stream is too slow and delays other calls";
        call.end(AnswerState::Failed(Error::new(code::RESOURCE_EXHAUSTED, message)));
        Poll::Ready(Err(call))
    }
}

/// The time for which a connection may still be kept from reading. Spent time comes back slowly while the connection
/// reads.
#[derive(Debug)]
struct StallAllowance {
    limit: Duration,
    spent: Duration,
    /// The moment since which spent time comes back; `None` as long as none was spent.
    reading_since: Option<Instant>,
}

/// The seconds of reading that bring one second back, so that at most every eleventh second is lost in the long run.
const COMES_BACK: u32 = 10;

impl StallAllowance {
    const fn new(limit: Duration) -> Self {
        Self { limit, spent: Duration::ZERO, reading_since: None }
    }

    /// Returns the time that is left at `now`.
    fn left(&mut self, now: Instant) -> Duration {
        if let Some(since) = self.reading_since.replace(now) {
            self.spent = self.spent.saturating_sub(now.saturating_duration_since(since) / COMES_BACK);
        }
        self.limit.saturating_sub(self.spent)
    }

    /// Notes that the connection was kept from reading from `began` until `now`.
    fn spend(&mut self, began: Instant, now: Instant) {
        self.spent = self.spent.saturating_add(now.saturating_duration_since(began)).min(self.limit);
        self.reading_since = Some(now);
    }
}
