//! The counts of each server's calls: how many there were, how they ended, and how long they took.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::{Error, Flow, Gate, Request, RequestKind, Response};
use tokio::time::Instant;

/// The counts of one server's calls. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<CallCounters>);

#[derive(Debug, Default)]
struct CallCounters {
    in_work: AtomicU64,
    failed: AtomicU64,
    micros: AtomicU64,
    /// The number of calls that took up to each bound; the last one counts those that took longer.
    took: [AtomicU64; BOUNDS.len() + 1],
}

/// The counts of a [`Meter`] at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeterReading {
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    pub(crate) in_work: u64,
    pub(crate) micros: u64,
    pub(crate) took: [u64; BOUNDS.len() + 1],
}

impl Meter {
    fn begun(&self) {
        self.0.in_work.fetch_add(1, Ordering::Relaxed);
    }

    fn dropped(&self) {
        self.0.in_work.fetch_sub(1, Ordering::Relaxed);
    }

    fn ended(&self, took: Duration, failed: bool) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let counts = &*self.0;
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        counts.took[bucket].fetch_add(1, Ordering::Relaxed);
        counts.micros.fetch_add(micros, Ordering::Relaxed);
        counts.failed.fetch_add(u64::from(failed), Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> MeterReading {
        let took = std::array::from_fn(|bucket| self.0.took[bucket].load(Ordering::Relaxed));
        MeterReading {
            calls: took.iter().sum(),
            failed: self.0.failed.load(Ordering::Relaxed),
            in_work: self.0.in_work.load(Ordering::Relaxed),
            micros: self.0.micros.load(Ordering::Relaxed),
            took,
        }
    }
}

impl MeterReading {
    /// Returns the time that this part of the calls took at most, as far as buckets tell; `None` without calls, and for
    /// calls beyond the last bound.
    pub(crate) fn quantile(&self, part: f64) -> Option<Duration> {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank among fewer calls than a double counts exactly"
        )]
        let rank = ((self.calls as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.took.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        (self.calls > 0).then(|| BOUNDS.get(bucket).copied().map(Duration::from_micros)).flatten()
    }
}

/// The upper bounds of the buckets, in microseconds: 1, 2.5 and 5 times the powers of ten, from a tenth of a
/// millisecond to a minute.
pub(crate) const BOUNDS: [u64; 18] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 25_000_000, 60_000_000,
];

/// A gate that counts the calls of one server. Takes no lock and allocates nothing.
#[derive(Debug, Clone)]
pub(crate) struct MeterGate(pub(crate) Meter);

impl Gate for MeterGate {
    type Pass = Option<CountedCall>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        Flow::Pass((request.kind == RequestKind::Call).then(|| {
            self.0.begun();
            CountedCall { meter: self.0.clone(), since: Instant::now() }
        }))
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let Some(call) = call {
            self.0.ended(call.since.elapsed(), outcome.is_err());
        }
    }
}

/// A guard that counts a call as in work for as long as it lives.
pub(crate) struct CountedCall {
    meter: Meter,
    since: Instant,
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        self.meter.dropped();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_read() {
        let meter = Meter::default();
        for millis in 1..=100 {
            meter.begun();
            meter.ended(Duration::from_millis(millis), millis > 95);
            meter.dropped();
        }
        let reading = meter.read();
        assert_eq!((reading.calls, reading.failed, reading.in_work), (100, 5, 0));
        assert_eq!(reading.quantile(0.5), Some(Duration::from_millis(50)));
        assert_eq!(reading.quantile(0.95), Some(Duration::from_millis(100)));
        assert_eq!(reading.micros, 5_050_000);
    }

    #[test]
    fn nothing_is_said_of_calls_that_never_were() {
        assert_eq!(Meter::default().read().quantile(0.5), None);
        let meter = Meter::default();
        meter.ended(Duration::from_hours(1), false);
        assert_eq!(meter.read().quantile(0.5), None, "it took longer than can be said");
    }
}
