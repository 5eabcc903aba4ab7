//! The meters that count calls against the rate limits.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::rates::{MeterPace, RateMeter};

/// The meters of all principals, tools and servers that were seen lately.
///
/// All meters that a call concerns are checked and changed under one short lock, so that a refused call uses up
/// nothing anywhere. Their number is bounded in each dimension. Meters in the same state as new ones are removed to
/// make room, at most once a second; if there are none, all newcomers share one meter, so that many names serve
/// neither to fill the memory nor to start with a fresh count.
#[derive(Debug)]
pub(super) struct Limiter {
    started: Instant,
    hasher: foldhash::quality::RandomState,
    max_keys: usize,
    /// A table of meters for each dimension, so that the names of tools, whose number is unbounded, take no room from
    /// principals.
    meters: Mutex<[MeterTable; DIMENSIONS.len()]>,
}

#[derive(Debug, Default)]
struct MeterTable {
    by_hash: HashMap<u64, RateMeter, foldhash::fast::RandomState>,
    newcomers: RateMeter,
    swept: Duration,
}

/// The kinds of things that a limit applies to, in the order of their tables.
const DIMENSIONS: [&str; 3] = ["principal", "tool", "server"];
/// The dimension of principals.
const PRINCIPAL: usize = 0;

/// The keys and paces of the meters that a call concerns: of a principal, a tool and a server.
pub(super) type WantedMeters<'a> = [Option<(u64, &'a MeterPace)>; DIMENSIONS.len()];

/// The dimension of the limit that a call exceeds, and the time until it no longer does.
pub(super) type ExceededLimit = (&'static str, Duration);

impl Limiter {
    pub(super) fn new(max_keys: usize) -> Self {
        let hasher = foldhash::quality::RandomState::default();
        Self { started: Instant::now(), hasher, max_keys, meters: Mutex::default() }
    }

    /// Returns the key of a meter. Names are hashed with a secret seed, so that they need neither memory nor a bound on
    /// their length; if two names ever had the same hash, they would share a limit.
    pub(super) fn key(&self, name: impl Hash) -> u64 {
        self.hasher.hash_one(name)
    }

    /// Asks whether each wanted meter has room for a call and, if it `takes` one, takes it from all of them.
    ///
    /// # Errors
    /// The call exceeds a limit; nothing is taken then.
    pub(super) fn ask(&self, wanted: WantedMeters<'_>, takes: bool) -> Result<(), ExceededLimit> {
        if wanted.iter().all(Option::is_none) {
            return Ok(());
        }
        let now = self.started.elapsed();
        let mut meters = self.meters.lock();
        let mut found = [RateMeter::default(); DIMENSIONS.len()];
        let mut exceeded = (DIMENSIONS[PRINCIPAL], Duration::ZERO);
        let wanted = || wanted.into_iter().enumerate().filter_map(|(at, meter)| Some((at, meter?)));
        for (at, (key, pace)) in wanted() {
            found[at] = meters[at].meter(key, self.max_keys, now);
            let wait = found[at].wait(pace, now);
            if wait > exceeded.1 {
                exceeded = (DIMENSIONS[at], wait);
            }
        }
        if exceeded.1 > Duration::ZERO {
            return Err(exceeded);
        }
        for (at, (key, pace)) in wanted().filter(|_| takes) {
            found[at].take(pace, now);
            meters[at].set(key, found[at], self.max_keys);
        }
        Ok(())
    }

    /// Returns what is left of the meter of the principal with `key`: see [`RateMeter::left`].
    pub(super) fn left(&self, key: u64, pace: &MeterPace) -> Option<(u64, Duration)> {
        let now = self.started.elapsed();
        let meter = self.meters.lock()[PRINCIPAL].meter(key, self.max_keys, now);
        meter.left(pace, now)
    }

    #[cfg(test)]
    pub(super) fn keys(&self) -> usize {
        self.meters.lock().iter().map(|crowd| crowd.by_hash.len()).sum()
    }
}

impl MeterTable {
    /// Returns the meter for this hash: its own, or that of all newcomers if there is no room for another.
    fn meter(&mut self, hash: u64, max_keys: usize, now: Duration) -> RateMeter {
        if let Some(meter) = self.by_hash.get(&hash) {
            return *meter;
        }
        if self.is_full(max_keys, now) { self.newcomers } else { RateMeter::default() }
    }

    fn set(&mut self, hash: u64, meter: RateMeter, max_keys: usize) {
        if self.by_hash.len() < max_keys || self.by_hash.contains_key(&hash) {
            self.by_hash.insert(hash, meter);
        } else {
            self.newcomers = meter;
        }
    }

    /// Returns whether there is no room for another meter, even after idle ones are removed.
    fn is_full(&mut self, max_keys: usize, now: Duration) -> bool {
        if self.by_hash.len() >= max_keys && now.saturating_sub(self.swept) >= SWEEP_EVERY {
            self.swept = now;
            self.by_hash.retain(|_, meter| !meter.is_idle(now));
        }
        self.by_hash.len() >= max_keys
    }
}

/// The shortest time between two removals of idle meters.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
