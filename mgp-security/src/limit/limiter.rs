use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::meter::{Meter, Pace};

/// The meters of everybody who was seen lately.
///
/// All meters that a call concerns are looked at and changed under one short lock, so that a refused call uses up
/// nothing anywhere, exactly and not nearly. There is a bound to their number. Those that say the same as new ones
/// make room, once a second at most; when none does, all newcomers share one meter, so that many names are neither a
/// way to fill the memory nor to begin anew.
#[derive(Debug)]
pub(super) struct Limiter {
    started: Instant,
    hasher: foldhash::quality::RandomState,
    max_keys: usize,
    meters: Mutex<Meters>,
}

#[derive(Debug, Default)]
struct Meters {
    by_key: HashMap<Key, Meter, foldhash::fast::RandomState>,
    crowds: [Meter; Dimension::COUNT],
    swept: Duration,
}

/// What a limit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Dimension {
    Principal,
    Tool,
    PrincipalAndTool,
    Server,
}

/// Whose meter it is. Names are hashed, with a secret seed, so that they need neither memory nor a bound to their
/// length; should two ever meet in one hash, they share a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    dimension: Dimension,
    hash: u64,
}

/// Which limit a call exceeds, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exceeded {
    pub(super) dimension: Dimension,
    pub(super) wait: Duration,
}

impl Limiter {
    pub(super) fn new(max_keys: usize) -> Self {
        let hasher = foldhash::quality::RandomState::default();
        Self { started: Instant::now(), hasher, max_keys, meters: Mutex::default() }
    }

    pub(super) fn key(&self, dimension: Dimension, name: impl Hash) -> Key {
        Key { dimension, hash: self.hasher.hash_one(name) }
    }

    /// Takes one call from each of `wanted`, or nothing from any.
    pub(super) fn take(&self, wanted: &[Option<(Key, &Pace)>]) -> Result<(), Exceeded> {
        let now = self.started.elapsed();
        let mut meters = self.meters.lock();
        let full = meters.is_full(self.max_keys, wanted.iter().flatten().count(), now);
        let waits = wanted.iter().flatten().map(|(key, pace)| Exceeded {
            dimension: key.dimension,
            wait: meters.peek(*key, full).wait(pace, now),
        });
        if let Some(exceeded) = waits.max_by_key(|exceeded| exceeded.wait)
            && exceeded.wait > Duration::ZERO
        {
            return Err(exceeded);
        }
        for (key, pace) in wanted.iter().flatten() {
            meters.of(*key, full).take(pace, now);
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn keys(&self) -> usize {
        self.meters.lock().by_key.len()
    }
}

impl Meters {
    /// Whether there is no room for `more` meters, not even after those that are idle are gone.
    fn is_full(&mut self, max_keys: usize, more: usize, now: Duration) -> bool {
        let is_full = |meters: &Self| meters.by_key.len() + more > max_keys;
        if is_full(self) && now.saturating_sub(self.swept) >= SWEEP_EVERY {
            self.swept = now;
            self.by_key.retain(|_, meter| !meter.is_idle(now));
        }
        is_full(self)
    }

    fn peek(&self, key: Key, full: bool) -> Meter {
        let newcomer = if full { self.crowds[key.dimension.index()] } else { Meter::default() };
        self.by_key.get(&key).copied().unwrap_or(newcomer)
    }

    fn of(&mut self, key: Key, full: bool) -> &mut Meter {
        if full && !self.by_key.contains_key(&key) {
            return &mut self.crowds[key.dimension.index()];
        }
        self.by_key.entry(key).or_default()
    }
}

impl Dimension {
    const COUNT: usize = 4;

    const fn index(self) -> usize {
        match self {
            Self::Principal => 0,
            Self::Tool => 1,
            Self::PrincipalAndTool => 2,
            Self::Server => 3,
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Tool => "tool",
            Self::PrincipalAndTool => "principal-and-tool",
            Self::Server => "server",
        }
    }
}

const SWEEP_EVERY: Duration = Duration::from_secs(1);
