//! The stop of a connection or stream that waits for slow callers, and the time limit of that wait.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::{Error, Method, Params, code};
use tokio::time::{Instant, Sleep, sleep};

use super::{AnswerState, CallDeliveries};
use crate::ConnectionLimits;

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
    pub(super) fn begin(&mut self, call: &Arc<CallDeliveries>) {
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
pub(super) struct StallAllowance {
    limit: Duration,
    spent: Duration,
    /// The moment since which spent time comes back; `None` as long as none was spent.
    reading_since: Option<Instant>,
}

/// The seconds of reading that bring one second back, so that at most every eleventh second is lost in the long run.
const COMES_BACK: u32 = 10;

impl StallAllowance {
    pub(super) const fn new(limit: Duration) -> Self {
        Self { limit, spent: Duration::ZERO, reading_since: None }
    }

    /// Returns the time that is left at `now`.
    pub(super) fn left(&mut self, now: Instant) -> Duration {
        if let Some(since) = self.reading_since.replace(now) {
            self.spent = self.spent.saturating_sub(now.saturating_duration_since(since) / COMES_BACK);
        }
        self.limit.saturating_sub(self.spent)
    }

    /// Notes that the connection was kept from reading from `began` until `now`.
    pub(super) fn spend(&mut self, began: Instant, now: Instant) {
        self.spent = self.spent.saturating_add(now.saturating_duration_since(began)).min(self.limit);
        self.reading_since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_spent_comes_back_while_the_connection_reads() {
        let seconds = Duration::from_secs;
        let mut patience = StallAllowance::new(seconds(5));
        let began = Instant::now();
        assert_eq!(patience.left(began), seconds(5));
        patience.spend(began, began + seconds(3));
        assert_eq!(patience.left(began + seconds(3)), seconds(2));
        assert_eq!(patience.left(began + seconds(13)), seconds(3));
        assert_eq!(patience.left(began + seconds(33)), seconds(5));
        assert_eq!(patience.left(began + seconds(1000)), seconds(5));
        patience.spend(began, began + seconds(1000));
        assert_eq!(patience.left(began + seconds(1000)), Duration::ZERO);
        assert_eq!(patience.left(began + seconds(1010)), seconds(1));
    }
}
