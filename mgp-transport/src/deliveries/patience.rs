//! The time for which callers may keep a connection from reading.

use std::time::Duration;

use tokio::time::Instant;

/// The time for which a connection may still be kept from reading. Spent time comes back slowly while the connection
/// reads.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    spent: Duration,
    /// The moment since which spent time comes back; `None` as long as none was spent.
    reading_since: Option<Instant>,
}

impl Patience {
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

/// The seconds of reading that bring one second back, so that at most every eleventh second is lost in the long run.
const COMES_BACK: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_spent_comes_back_while_the_connection_reads() {
        let seconds = Duration::from_secs;
        let mut patience = Patience::new(seconds(5));
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
