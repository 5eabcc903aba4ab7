//! What the peer sends about one call of ours, on its way to whoever made the call.
//!
//! The connection, which many calls share, puts messages in; the future that waits for the answer takes them out,
//! hands them to the outbox of the call one after the other, and has the answer when all of them are delivered.

mod patience;
mod stall;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, Method, Outbox, Params, RawJson, Request, StreamId};
use parking_lot::Mutex;

use self::patience::Patience;
pub(crate) use self::stall::Stalls;
use crate::ConnectionLimits;
use crate::waker_slot::WakerSlot;

/// What the peer answered.
pub(crate) type Outcome = Result<RawJson, Error>;

/// The messages about one call that its caller has not taken yet, and its answer behind them.
pub(crate) struct Deliveries {
    outbox: Outbox,
    max_messages: usize,
    max_bytes: usize,
    state: Mutex<State>,
}

struct State {
    waiting: VecDeque<Delivery>,
    bytes: usize,
    progress: Progress,
    /// How much longer the connection may be kept from reading by this call.
    patience: Patience,
    /// Woken when there is something to take.
    caller: WakerSlot,
    /// Woken when there is room again.
    connection: WakerSlot,
}

struct Delivery {
    method: Method,
    params: Params,
    bytes: usize,
}

enum Progress {
    /// More may come.
    Open,
    /// The answer came; it is taken after what waits.
    Answered(Outcome),
    /// The call failed for good: nothing is delivered any more.
    Failed(Error),
    /// Nobody waits any more.
    Over,
}

/// Whether more may be put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "whoever puts in too much has to wait"]
pub(crate) enum Room {
    Left,
    None,
}

impl Deliveries {
    pub(crate) fn new(outbox: Outbox, limits: &ConnectionLimits) -> Self {
        Self {
            outbox,
            max_messages: limits.max_undelivered,
            max_bytes: limits.max_undelivered_bytes,
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                bytes: 0,
                progress: Progress::Open,
                patience: Patience::new(limits.delivery_timeout),
                caller: WakerSlot::default(),
                connection: WakerSlot::default(),
            }),
        }
    }

    /// The stream of the call.
    pub(crate) fn stream(&self) -> StreamId {
        self.outbox.stream()
    }

    /// The outbox of the call.
    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Puts a message in that came in so many bytes. There is always a place for it; whoever is told
    /// that this was the last one has to [stall](Stalls::begin).
    pub(crate) fn put(&self, method: Method, params: Params, bytes: usize) -> Room {
        let mut state = self.state.lock();
        if !matches!(state.progress, Progress::Open) {
            return Room::Left;
        }
        let bytes = bytes + PLACE_BYTES;
        state.waiting.push_back(Delivery { method, params, bytes });
        state.bytes += bytes;
        let room = if state.waiting.len() >= self.max_messages || state.bytes >= self.max_bytes {
            Room::None
        } else {
            Room::Left
        };
        state.caller.wake();
        room
    }

    /// Notes the answer; it is taken when everything before it was.
    pub(crate) fn answer(&self, outcome: Outcome) {
        let mut state = self.state.lock();
        if let Progress::Open = state.progress {
            state.progress = Progress::Answered(outcome);
        }
        state.caller.wake();
        state.connection.wake();
    }

    /// Fails the call at once.
    pub(crate) fn fail(&self, error: Error) {
        let mut state = self.state.lock();
        let dropped = std::mem::take(&mut state.waiting);
        state.progress = Progress::Failed(error);
        state.caller.wake();
        state.connection.wake();
        drop(state);
        drop(dropped);
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        let dropped = std::mem::take(&mut state.waiting);
        let progress = std::mem::replace(&mut state.progress, Progress::Over);
        state.connection.wake();
        drop(state);
        drop((dropped, progress));
    }

    /// Delivers what comes, and returns the answer behind it. To be awaited once.
    pub(crate) async fn run(&self) -> Outcome {
        while let Some(Delivery { method, params, .. }) = poll_fn(|cx| self.poll_next(cx)).await {
            let mut delivered = pin!(self.outbox.notify(Request::notify(method, params)));
            let outcome = poll_fn(|cx| match delivered.as_mut().poll(cx) {
                Poll::Ready(outcome) => Poll::Ready(Ok(outcome)),
                // A call that failed does not wait for a reader who takes nothing.
                Poll::Pending => self.poll_failed(cx).map(Err),
            });
            if let Err(error) = outcome.await? {
                tracing::debug!(%error, "the caller did not take a message about its call");
            }
            // Readers that take everything at once must not keep their task from all else.
            tokio::task::consume_budget().await;
        }
        self.take_answer()
    }

    /// The next message; `None` when only the answer is left.
    fn poll_next(&self, cx: &Context<'_>) -> Poll<Option<Delivery>> {
        let mut state = self.state.lock();
        if let Some(next) = state.waiting.pop_front() {
            state.bytes -= next.bytes;
            // Woken late, the connection has something to do when it is woken.
            if !state.connection.is_empty() && self.has_room(&state) {
                state.connection.wake();
            }
            return Poll::Ready(Some(next));
        }
        if let Progress::Open = state.progress {
            state.caller.register(cx);
            return Poll::Pending;
        }
        Poll::Ready(None)
    }

    /// Ready when a connection that was stopped may go on.
    fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if self.has_room(&state) {
            state.connection.clear();
            return Poll::Ready(());
        }
        state.connection.register(cx);
        Poll::Pending
    }

    fn poll_failed(&self, cx: &Context<'_>) -> Poll<Error> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut state.progress, Progress::Over) {
            Progress::Failed(error) => Poll::Ready(error),
            progress => {
                state.progress = progress;
                state.caller.register(cx);
                Poll::Pending
            }
        }
    }

    fn take_answer(&self) -> Outcome {
        match std::mem::replace(&mut self.state.lock().progress, Progress::Over) {
            Progress::Answered(outcome) => outcome,
            Progress::Failed(error) => Err(error),
            Progress::Open | Progress::Over => Err(Error::cancelled()),
        }
    }

    /// Whether there is room enough for a connection that was stopped. Half of the room at least is then left.
    fn has_room(&self, state: &State) -> bool {
        state.waiting.len() <= self.max_messages / 2 && state.bytes <= self.max_bytes / 2
            || !matches!(state.progress, Progress::Open)
    }
}

/// What a message takes while it waits, beside its own bytes.
const PLACE_BYTES: usize = size_of::<Delivery>() + 64;

/// Whoever puts messages in. The call ends with it, whatever becomes of the connection.
pub(crate) struct Feed(Arc<Deliveries>);

impl Feed {
    pub(crate) fn new(deliveries: &Arc<Deliveries>) -> Self {
        Self(Arc::clone(deliveries))
    }

    pub(crate) fn deliveries(&self) -> &Arc<Deliveries> {
        &self.0
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.0.answer(Err(Error::disconnected("the connection is closed")));
    }
}
