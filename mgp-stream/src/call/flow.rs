use std::time::Duration;

use tokio::time::Instant;

/// Finds out whether the reader keeps up, and what to tell the server if it does not.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Since when the reader is behind.
    since: Option<Instant>,
    /// How many parts it has taken since then.
    taken: u32,
    /// What the server was told, since it was told anything but to do as it likes.
    told: Option<f64>,
}

impl Flow {
    /// The reader took a part and left so many behind. How many chunks a second the server is to send from now on, if
    /// that changed.
    pub(super) fn took(&mut self, now: impl Fn() -> Instant, left: usize) -> Option<f64> {
        if left == 0 {
            // Whoever was never slowed down need not be told to go on.
            return std::mem::take(self).told.map(|_| UNPACED);
        }
        let Some(since) = self.since else {
            self.since = Some(now());
            return None;
        };
        self.taken += 1;
        if left < HIGH_WATER {
            return None;
        }
        let now = now();
        let time = now - since;
        if time < SHORTEST {
            return None;
        }
        // A little slower than the reader, or the queue would stay as long as it is. Never nothing, that is a pause.
        let rate = f64::from(self.taken) * 0.9 / time.as_secs_f64();
        let rate = (rate * 1000.0).round().max(100.0) / 1000.0;
        (self.since, self.taken) = (Some(now), 0);
        if self.told.is_some_and(|told| rate > told * 0.75) {
            return None;
        }
        self.told = Some(rate);
        self.told
    }
}

/// From how many parts in the queue on the server is too fast.
const HIGH_WATER: usize = super::feed::CAPACITY * 3 / 4;
/// A shorter time says little about a rate; in a longer one a fast server sends more than can wait for the reader.
const SHORTEST: Duration = Duration::from_millis(25);
/// As fast as it likes.
const UNPACED: f64 = 1_000_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// What the server is told while the reader takes a part every so often.
    fn told(flow: &mut Flow, now: &mut Instant, parts: usize, every: u64, left: usize) -> Vec<f64> {
        let mut turn = || {
            *now += Duration::from_millis(every);
            flow.took(|| *now, left)
        };
        (0..parts).filter_map(|_| turn()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_is_told_when_the_reader_falls_behind_further_and_when_it_has_caught_up() {
        let (mut flow, mut now) = (Flow::default(), Instant::now());
        assert!(told(&mut flow, &mut now, 50, 100, HIGH_WATER - 1).is_empty());
        assert_eq!(told(&mut flow, &mut now, 20, 100, HIGH_WATER).len(), 1);
        let slower = told(&mut flow, &mut now, 20, 1000, HIGH_WATER);
        assert!(slower.len() <= 2 && slower.last() == Some(&0.9), "{slower:?}");
        assert!(told(&mut flow, &mut now, 20, 1000, 1).is_empty());
        assert_eq!(told(&mut flow, &mut now, 20, 1000, 0), [UNPACED]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_says_nothing_and_the_slowest_reader_is_no_pause() {
        let (mut flow, mut now) = (Flow::default(), Instant::now());
        assert!(told(&mut flow, &mut now, 24, 1, HIGH_WATER).is_empty());
        let (mut flow, mut now) = (Flow::default(), Instant::now());
        assert_eq!(told(&mut flow, &mut now, 2, 100_000_000, HIGH_WATER), [0.1]);
    }
}
