//! The coordinator: a board that callers share, and the waiting for what changes on it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

use super::board::Board;
use super::refusal::Refusal;

/// A board with those who wait for its changes. Clones are of the same board.
#[derive(Debug, Clone)]
pub(super) struct Coordinator(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    board: Mutex<Board>,
    changed: Notify,
    waiting: Semaphore,
}

impl Coordinator {
    pub(super) fn new() -> Self {
        let waiting = Semaphore::new(MAX_WAITING);
        Self(Arc::new(Shared { board: Mutex::default(), changed: Notify::new(), waiting }))
    }

    /// Does something on the board, and wakes those who wait if it changed.
    pub(super) fn on_board<T>(&self, act: impl FnOnce(&mut Board, Instant) -> T) -> T {
        let mut board = self.0.board.lock();
        let before = board.version();
        let outcome = act(&mut board, Instant::now());
        if board.version() != before {
            self.0.changed.notify_waiters();
        }
        outcome
    }

    /// Looks at the board until there is something, but no longer than `patience`; `look` is told how long may still be
    /// waited.
    pub(super) async fn wait_for<T>(
        &self,
        patience: Duration,
        mut look: impl FnMut(&mut Board, Instant, Duration) -> Result<Option<T>, Refusal>,
    ) -> Result<Option<T>, Refusal> {
        let end = Instant::now() + patience;
        let mut place = None;
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            // What changes from here on is heard.
            changed.as_mut().enable();
            let (found, wake_at) = self.on_board(|board, now| {
                let found = look(board, now, end.saturating_duration_since(now));
                (found, board.wake_at())
            });
            if let Some(found) = found? {
                return Ok(Some(found));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            if place.is_none() {
                place = Some(self.place()?);
            }
            tokio::select! {
                () = changed => {}
                () = sleep_until(wake_at.map_or(end, |at| at.min(end))) => {}
            }
        }
    }

    fn place(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        self.0.waiting.try_acquire().map_err(|_| Refusal::TooManyWaiting)
    }
}

/// How many callers may wait at once: half of the calls that a kernel makes of a server at once, so that no number of
/// waiting agents keeps others from being heard.
pub(super) const MAX_WAITING: usize = 32;
