//! The time in which a server waits for others.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

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

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn questions_that_wait_together_count_once() {
        let (asked, second) = (Asked::default(), Duration::from_secs(1));
        asked.begin();
        advance(second).await;
        asked.begin();
        advance(second).await;
        asked.end();
        assert!(asked.until(Instant::now()).is_open);
        advance(second).await;
        asked.end();
        assert!(!asked.until(Instant::now()).is_open);
        advance(second).await;
        assert_eq!(asked.until(Instant::now()).total, second * 3);
        asked.begin();
        advance(second).await;
        assert_eq!(asked.until(Instant::now()).total, second * 4);
    }
}
