//! The client's flow control: a server that sends faster than the reader takes is told a slower pace.

use std::time::Duration;

use tokio::time::Instant;

/// Finds out whether the reader keeps up, and which pace to tell the server if it does not.
#[derive(Debug, Default)]
pub(super) struct FlowControl {
    /// The time since when the reader is behind.
    since: Option<Instant>,
    /// The number of parts taken since then.
    taken: u32,
    /// The pace that the server was told last, unless that was no limit.
    last_pace: Option<f64>,
}

/// The pace that stands for no limit, in chunks per second.
const UNPACED: f64 = 1_000_000.0;

/// The shortest time over which a rate is measured. A shorter time says little about a rate; in a longer one a fast
/// server sends more than can wait for the reader.
const SHORTEST: Duration = Duration::from_millis(25);

/// The number of queued parts from which on the server is too fast.
const HIGH_WATER: usize = super::feed::CAPACITY * 3 / 4;

impl FlowControl {
    /// Notes that the reader took a part and left `left` in the queue. Returns the pace in chunks per second to tell
    /// the server, if the pace changes.
    pub(super) fn took(&mut self, now: impl Fn() -> Instant, left: usize) -> Option<f64> {
        if left == 0 {
            // A server that was never slowed down need not be told to go on.
            return std::mem::take(self).last_pace.map(|_| UNPACED);
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
        // The rate is a little slower than the reader, or the queue would stay as long as it is. The rate is never 0,
        // which would be a pause.
        let rate = f64::from(self.taken) * 0.9 / time.as_secs_f64();
        let rate = (rate * 1000.0).round().max(100.0) / 1000.0;
        (self.since, self.taken) = (Some(now), 0);
        if self.last_pace.is_some_and(|pace| rate > pace * 0.75) {
            return None;
        }
        self.last_pace = Some(rate);
        self.last_pace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the paces that the server is told while the reader takes a part every `every` milliseconds.
    fn announced_paces(
        flow: &mut FlowControl,
        now: &mut Instant,
        parts: usize,
        every: u64,
        left: usize,
    ) -> Vec<f64> {
        let mut turn = || {
            *now += Duration::from_millis(every);
            flow.took(|| *now, left)
        };
        (0..parts).filter_map(|_| turn()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_is_told_when_the_reader_falls_behind_further_and_when_it_has_caught_up() {
        let (mut flow, mut now) = (FlowControl::default(), Instant::now());
        assert!(announced_paces(&mut flow, &mut now, 50, 100, HIGH_WATER - 1).is_empty());
        assert_eq!(announced_paces(&mut flow, &mut now, 20, 100, HIGH_WATER).len(), 1);
        let slower = announced_paces(&mut flow, &mut now, 20, 1000, HIGH_WATER);
        assert!(slower.len() <= 2 && slower.last() == Some(&0.9), "{slower:?}");
        assert!(announced_paces(&mut flow, &mut now, 20, 1000, 1).is_empty());
        assert_eq!(announced_paces(&mut flow, &mut now, 20, 1000, 0), [UNPACED]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_says_nothing_and_the_slowest_reader_is_no_pause() {
        let (mut flow, mut now) = (FlowControl::default(), Instant::now());
        assert!(announced_paces(&mut flow, &mut now, 24, 1, HIGH_WATER).is_empty());
        let (mut flow, mut now) = (FlowControl::default(), Instant::now());
        assert_eq!(announced_paces(&mut flow, &mut now, 2, 100_000_000, HIGH_WATER), [0.1]);
    }
}
