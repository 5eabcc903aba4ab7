//! The rates of one limit, the meter that counts calls against them, and the table of the meters of all callers.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::num::NonZeroU32;
use std::time::Duration;

use foldhash::quality::FixedState;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Limits on the number of calls in a minute, an hour and a day. Each limit that is set applies independently.
///
/// A full limit of calls may come at once; after that, capacity returns evenly over the window. That keeps two bursts
/// from meeting at the border of two minutes, and lets at most twice the number through in any minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[must_use]
#[non_exhaustive]
pub struct Rates {
    /// The largest number of calls in a minute; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<NonZeroU32>,
    /// The largest number of calls in an hour; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_hour: Option<NonZeroU32>,
    /// The largest number of calls in a day; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_day: Option<NonZeroU32>,
}

impl Rates {
    /// Returns rates without any limit.
    pub const fn new() -> Self {
        Self { requests_per_minute: None, requests_per_hour: None, requests_per_day: None }
    }

    mgp_types::setters! { self =>
        /// Limits the rate to `calls` in a minute.
        pub fn per_minute(calls: NonZeroU32) => self.requests_per_minute = Some(calls);

        /// Limits the rate to `calls` in an hour.
        pub fn per_hour(calls: NonZeroU32) => self.requests_per_hour = Some(calls);

        /// Limits the rate to `calls` in a day.
        pub fn per_day(calls: NonZeroU32) => self.requests_per_day = Some(calls);
    }
}

/// The [`Rates`] in the form that a [`RateMeter`] computes with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeterPace {
    pub(crate) rates: Rates,
    windows: [Option<RateWindow>; 3],
    /// The number of calls that may be made before other kernels know of them.
    share: u32,
}

#[derive(Debug, Clone, Copy)]
struct RateWindow {
    /// The time that one call uses up, in nanoseconds.
    cell: u64,
    /// The longest time that calls may be ahead of an even pace, in nanoseconds.
    tolerance: u64,
}

/// The used part of one caller's rates: for each window the time at which nothing of it is used any more, in
/// nanoseconds. This is the generic cell rate algorithm.
///
/// There is one number for each window so that all of them can be checked before any is changed: a call that one window
/// refuses uses up nothing of the others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RateMeter([u64; 3]);

impl MeterPace {
    pub(crate) fn new(rates: Rates) -> Self {
        let Rates { requests_per_minute: minute, requests_per_hour: hour, requests_per_day: day } = rates;
        let windows = [(minute, 1), (hour, 60), (day, 24 * 60)].map(|(calls, minutes)| {
            calls.map(|calls| {
                let cell = nanos(Duration::from_mins(minutes)) / u64::from(calls.get());
                RateWindow { cell, tolerance: cell * u64::from(calls.get() - 1) }
            })
        });
        let fewest = [minute, hour, day].into_iter().flatten().min();
        Self { rates, windows, share: fewest.map_or(u32::MAX, |calls| (calls.get() / SHARES).max(1)) }
    }
}

/// The number of shares of a limit. A share is what one kernel may use before the others know of it, so all kernels but one
/// exceed a limit by one share each at most.
const SHARES: u32 = 16;

impl RateMeter {
    /// Returns how long to wait until a call is within all rates; zero if it is now.
    pub(crate) fn wait(&self, pace: &MeterPace, now: Duration) -> Duration {
        let now = nanos(now);
        let waits = self.0.iter().zip(&pace.windows).map(|(free_at, window)| {
            window.map_or(0, |window| free_at.saturating_sub(window.tolerance).saturating_sub(now))
        });
        Duration::from_nanos(waits.max().unwrap_or(0))
    }

    /// Uses up one call of each rate.
    pub(crate) fn take(&mut self, pace: &MeterPace, now: Duration) {
        let now = nanos(now);
        for (free_at, window) in self.0.iter_mut().zip(&pace.windows) {
            if let Some(window) = window {
                *free_at = (*free_at).max(now).saturating_add(window.cell);
            }
        }
    }

    /// Returns the number of calls that are within all rates now, and the time until nothing of the tightest rate is used
    /// any more; `None` if there is no rate.
    pub(crate) fn left(&self, pace: &MeterPace, now: Duration) -> Option<(u64, Duration)> {
        let now = nanos(now);
        let of_window = |(free_at, window): (&u64, &Option<RateWindow>)| {
            let window = window.as_ref()?;
            let used = free_at.saturating_sub(now);
            let whole = window.tolerance.saturating_add(window.cell);
            Some((whole.saturating_sub(used) / window.cell.max(1), Duration::from_nanos(used)))
        };
        self.0.iter().zip(&pace.windows).filter_map(of_window).min_by_key(|(calls, _)| *calls)
    }

    /// Returns whether the meter is in the same state as one that was never used.
    pub(crate) fn is_idle(&self, now: Duration) -> bool {
        let now = nanos(now);
        self.0.iter().all(|free_at| *free_at <= now)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The meters of all principals, tools, servers and keys that were seen lately.
///
/// Several kernels count together: each adds what is [`unreported`](Self::unreported) to what the others used, and
/// [learns](Self::learn) the sum. No call waits for that before a share of its limit is used of which nothing was told.
///
/// All meters that a call concerns are checked and changed under one short lock, so that a refused call uses up
/// nothing anywhere. Their number is bounded in each dimension. Meters in the same state as new ones are removed to
/// make room, at most once a second; if there are none, all newcomers share one meter, so that many names serve
/// neither to fill the memory nor to start with a fresh count.
#[derive(Debug)]
pub struct Limiter {
    started: Instant,
    hasher: FixedState,
    pub(super) max_keys: usize,
    /// True if other kernels count the same calls.
    is_shared: bool,
    meters: Mutex<Meters>,
}

/// A use of a limit that several kernels share: the id of the limit, the amount, and the amount that the limit gives
/// back in a second.
pub type SharedUse = (i64, f64, f64);

#[derive(Debug, Default)]
struct Meters {
    /// A table for each dimension, so that the names of tools, whose number is unbounded, take no room from principals.
    tables: [MeterTable; DIMENSIONS.len()],
    /// The calls of which other kernels do not know, by dimension and key.
    unreported: HashMap<(usize, u64), UnreportedCalls, foldhash::fast::RandomState>,
}

#[derive(Debug, Clone, Copy)]
struct UnreportedCalls {
    pace: MeterPace,
    calls: u32,
    /// The number of those that other kernels are being told of.
    sent: u32,
    /// The time since which there are such calls.
    since: Duration,
}

#[derive(Debug, Default)]
struct MeterTable {
    by_hash: HashMap<u64, RateMeter, foldhash::fast::RandomState>,
    newcomers: RateMeter,
    swept: Duration,
}

/// The kinds of things that a limit applies to, in the order of their tables.
const DIMENSIONS: [&str; 4] = ["principal", "tool", "server", "key"];
/// The dimension of principals.
const PRINCIPAL: usize = 0;

/// The keys and paces of the meters that a call concerns: of a principal, a tool, a server and an API key.
pub(crate) type WantedMeters<'a> = [Option<(u64, &'a MeterPace)>; DIMENSIONS.len()];

/// The dimension of the limit that a call exceeds, and the time until it no longer does, which is zero if other kernels have
/// to know of the calls before.
pub(crate) type ExceededLimit = (&'static str, Duration);

impl Default for Limiter {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Limiter {
    /// Returns meters of which nothing is used yet. With a secret seed, they count together with those of other kernels that
    /// have the same.
    pub fn new(seed: Option<u64>) -> Self {
        let (started, is_shared, meters) = (Instant::now(), seed.is_some(), Mutex::default());
        let seed = seed.unwrap_or_else(|| u64::from_ne_bytes(mgp_types::random_bytes()));
        Self { started, hasher: FixedState::with_seed(seed), max_keys: MAX_KEYS, is_shared, meters }
    }

    /// Returns the key of a meter. Names are hashed with a secret seed, so that they need neither memory nor a bound on
    /// their length; if two names ever had the same hash, they would share a limit.
    pub fn key(&self, name: impl Hash) -> u64 {
        self.hasher.hash_one(name)
    }

    /// Asks whether each wanted meter has room for a call and, if it `takes` one, takes it from all of them.
    ///
    /// # Errors
    /// The call exceeds a limit; nothing is taken then.
    pub(crate) fn ask(&self, wanted: WantedMeters<'_>, takes: bool) -> Result<(), ExceededLimit> {
        if wanted.iter().all(Option::is_none) {
            return Ok(());
        }
        let now = self.started.elapsed();
        let mut meters = self.meters.lock();
        let Meters { tables, unreported } = &mut *meters;
        let mut found = [RateMeter::default(); DIMENSIONS.len()];
        let mut exceeded: Option<ExceededLimit> = None;
        let wanted = || wanted.into_iter().enumerate().filter_map(|(at, meter)| Some((at, meter?)));
        for (at, (key, pace)) in wanted() {
            found[at] = tables[at].meter(key, self.max_keys, now);
            let full =
                unreported.get(&(at, key)).filter(|unreported| takes && unreported.calls >= pace.share);
            let is_away = full.is_some_and(|unreported| now.saturating_sub(unreported.since) > PATIENCE);
            let wait = found[at].wait(pace, now).max(if is_away { PATIENCE } else { Duration::ZERO });
            if (full.is_some() || wait > Duration::ZERO) && exceeded.is_none_or(|(_, most)| wait > most) {
                exceeded = Some((DIMENSIONS[at], wait));
            }
        }
        if let Some(exceeded) = exceeded {
            return Err(exceeded);
        }
        for (at, (key, pace)) in wanted().filter(|_| takes) {
            found[at].take(pace, now);
            tables[at].set(key, found[at], self.max_keys);
            let is_known = unreported.contains_key(&(at, key));
            if self.is_shared && (is_known || unreported.len() < DIMENSIONS.len() * self.max_keys) {
                let none = UnreportedCalls { pace: *pace, calls: 0, sent: 0, since: now };
                unreported.entry((at, key)).or_insert(none).calls += 1;
            }
        }
        Ok(())
    }

    /// Returns what was used here and other kernels do not know, to be added to what they used. Until [`Limiter::learn`] says
    /// that it was, the next call returns it again.
    pub fn unreported(&self) -> Vec<SharedUse> {
        let mut meters = self.meters.lock();
        let uses = meters.unreported.iter_mut().flat_map(|(&(at, key), unreported)| {
            unreported.sent = unreported.calls;
            let (windows, calls) =
                (unreported.pace.windows.into_iter().enumerate(), f64::from(unreported.sent));
            windows.filter_map(move |(window, of)| {
                let used = Duration::from_nanos(of?.cell).as_secs_f64() * calls;
                Some((self.key((at, key, window)).cast_signed(), used, 1.0))
            })
        });
        uses.collect()
    }

    /// Notes how much all kernels have used by now, by the ids of what was [`unreported`](Self::unreported).
    pub fn learn(&self, used: &BTreeMap<i64, f64>) {
        let now = self.started.elapsed();
        let mut meters = self.meters.lock();
        let Meters { tables, unreported } = &mut *meters;
        unreported.retain(|&(at, key), unreported| {
            let later = unreported.calls - unreported.sent;
            for (window, of) in unreported.pace.windows.into_iter().enumerate() {
                if let Some(RateWindow { cell, .. }) = of
                    && let Some(used) = used.get(&self.key((at, key, window)).cast_signed())
                    && let Some(meter) = tables[at].by_hash.get_mut(&key)
                {
                    let used = now.saturating_add(Duration::try_from_secs_f64(*used).unwrap_or_default());
                    let used = nanos(used).saturating_add(cell.saturating_mul(u64::from(later)));
                    meter.0[window] = meter.0[window].max(used);
                }
            }
            (unreported.calls, unreported.sent, unreported.since) = (later, 0, now);
            later > 0
        });
    }

    /// Returns what is left of the meter of the principal with `key`: see [`RateMeter::left`].
    pub(super) fn left(&self, key: u64, pace: &MeterPace) -> Option<(u64, Duration)> {
        let now = self.started.elapsed();
        let meter = self.meters.lock().tables[PRINCIPAL].meter(key, self.max_keys, now);
        meter.left(pace, now)
    }

    #[cfg(test)]
    pub(super) fn keys(&self) -> usize {
        self.meters.lock().tables.iter().map(|table| table.by_hash.len()).sum()
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

/// The largest number of meters in each dimension.
const MAX_KEYS: usize = 65_536;
/// The time between two questions of a call whether other kernels know of those before it.
pub(crate) const ASK_EVERY: Duration = Duration::from_millis(5);
/// The longest time for which calls wait until other kernels know of those before them. From then on, all are refused that
/// would exceed the share, and come again after as long.
const PATIENCE: Duration = Duration::from_secs(2);
/// The shortest time between two removals of idle meters.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
