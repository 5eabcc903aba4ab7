//! The rates of one limit, the meter that counts calls against them, and the table of the meters of all callers.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::num::NonZeroU32;
use std::time::Duration;

use foldhash::quality::FixedState;
use mgp_types::random_bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

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

    /// Limits the rate to `calls` in a minute.
    pub const fn per_minute(self, calls: NonZeroU32) -> Self {
        Self { requests_per_minute: Some(calls), ..self }
    }

    /// Limits the rate to `calls` in an hour.
    pub const fn per_hour(self, calls: NonZeroU32) -> Self {
        Self { requests_per_hour: Some(calls), ..self }
    }

    /// Limits the rate to `calls` in a day.
    pub const fn per_day(self, calls: NonZeroU32) -> Self {
        Self { requests_per_day: Some(calls), ..self }
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
pub(crate) struct RateMeter {
    free_at: [u64; 3],
    /// The number of calls of which other kernels do not know.
    untold: u32,
    /// The part of `untold` that other kernels are being told.
    sent: u32,
}

impl MeterPace {
    pub(crate) fn new(rates: Rates) -> Self {
        let Rates { requests_per_minute: minute, requests_per_hour: hour, requests_per_day: day } = rates;
        let windows = [(minute, 1), (hour, 60), (day, 24 * 60)].map(|(calls, minutes)| {
            calls.map(|calls| {
                let cell = nanos(Duration::from_mins(minutes)) / u64::from(calls.get());
                RateWindow { cell, tolerance: cell * u64::from(calls.get() - 1) }
            })
        });
        let share = [minute, hour, day].into_iter().flatten().min();
        let share = share.map_or(u32::MAX, |calls| (calls.get() / SHARES).max(1));
        Self { rates, windows, share }
    }

    /// Returns the windows that have a limit, with their places.
    fn limited(&self) -> impl Iterator<Item = (usize, RateWindow)> {
        self.windows.into_iter().enumerate().filter_map(|(at, window)| Some((at, window?)))
    }
}

/// The number of shares in a limit. A share is what one kernel uses before the others know of it, so each kernel but one may
/// exceed the limit by one share.
const SHARES: u32 = 16;

impl RateMeter {
    /// Returns how long to wait until a call is within all rates; zero if it is now.
    pub(crate) fn wait(&self, pace: &MeterPace, now: Duration) -> Duration {
        let now = nanos(now);
        let waits = self.free_at.iter().zip(&pace.windows).map(|(free_at, window)| {
            window.map_or(0, |window| free_at.saturating_sub(window.tolerance).saturating_sub(now))
        });
        Duration::from_nanos(waits.max().unwrap_or(0))
    }

    /// Uses up one call of each rate.
    pub(crate) fn take(&mut self, pace: &MeterPace, now: Duration) {
        let now = nanos(now);
        for (free_at, window) in self.free_at.iter_mut().zip(&pace.windows) {
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
        self.free_at.iter().zip(&pace.windows).filter_map(of_window).min_by_key(|(calls, _)| *calls)
    }

    /// Returns whether the meter is in the same state as one that was never used.
    pub(crate) fn is_idle(&self, now: Duration) -> bool {
        let now = nanos(now);
        self.untold == 0 && self.free_at.iter().all(|free_at| *free_at <= now)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The meters of all principals, tools, servers and keys that were seen lately.
///
/// Several kernels can count together: each adds what is [`untold`](Self::untold) to what the others used, and
/// [`learns`](Self::learn) the sum. No call waits for that, until a share of its limit is used of which nothing was told.
///
/// All meters that a call concerns are checked and changed under one short lock, so that a refused call uses up
/// nothing anywhere. Their number is bounded in each dimension. Meters in the same state as new ones are removed to
/// make room, at most once a second; if there are none, all newcomers share one meter, so that many names serve
/// neither to fill the memory nor to start with a fresh count.
#[derive(Debug)]
pub struct Limiter {
    started: Instant,
    hasher: FixedState,
    max_keys: usize,
    /// True if other kernels count the same calls.
    is_shared: bool,
    meters: Mutex<Meters>,
    /// Notifies calls that wait each time that other kernels were told something.
    told: Notify,
}

/// What was used of a limit that several kernels share: the id of the limit, the amount, and the amount that the limit gives
/// back in a second.
pub type SharedUse = (i64, f64, f64);

#[derive(Debug, Default)]
struct Meters {
    /// A table for each dimension, so that the names of tools, whose number is unbounded, take no room from principals.
    tables: [MeterTable; DIMENSIONS.len()],
    /// The dimensions, keys and paces of the meters of which other kernels do not know all.
    untold: Vec<(usize, u64, MeterPace)>,
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

/// The dimension of the limit that a call exceeds, and the time until it no longer does, which is zero if other kernels have to
/// be told of calls before.
pub(crate) type ExceededLimit = (&'static str, Duration);

impl Default for Limiter {
    fn default() -> Self {
        Self::with(MAX_KEYS, None)
    }
}

impl Limiter {
    /// Returns meters that count together with those of other kernels. All of them have the same secret seed.
    pub fn shared(seed: u64) -> Self {
        Self::with(MAX_KEYS, Some(seed))
    }

    pub(super) fn with(max_keys: usize, seed: Option<u64>) -> Self {
        let hasher = FixedState::with_seed(seed.unwrap_or_else(|| u64::from_ne_bytes(random_bytes())));
        let (is_shared, meters, told) = (seed.is_some(), Mutex::default(), Notify::new());
        Self { started: Instant::now(), hasher, max_keys, is_shared, meters, told }
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
        let Meters { tables, untold } = &mut *meters;
        let mut found = [RateMeter::default(); DIMENSIONS.len()];
        let mut exceeded: Option<ExceededLimit> = None;
        let wanted = || wanted.into_iter().enumerate().filter_map(|(at, meter)| Some((at, meter?)));
        for (at, (key, pace)) in wanted() {
            found[at] = tables[at].meter(key, self.max_keys, now);
            let wait = found[at].wait(pace, now);
            let is_full = wait > Duration::ZERO || (takes && found[at].untold >= pace.share);
            if is_full && exceeded.is_none_or(|(_, longest)| wait > longest) {
                exceeded = Some((DIMENSIONS[at], wait));
            }
        }
        if let Some(exceeded) = exceeded {
            return Err(exceeded);
        }
        for (at, (key, pace)) in wanted().filter(|_| takes) {
            found[at].take(pace, now);
            if self.is_shared {
                found[at].untold += 1;
                if found[at].untold == 1 {
                    untold.push((at, key, *pace));
                }
            }
            tables[at].set(key, found[at], self.max_keys);
        }
        Ok(())
    }

    /// Asks until other kernels know of so much that the answer is no longer that they do not, or for two seconds at most.
    ///
    /// # Cancel safety
    /// Dropping the future takes nothing.
    pub(crate) async fn ask_patiently<T, E>(
        &self,
        ask: impl Fn() -> Result<T, E>,
        is_untold: impl Fn(&E) -> bool,
    ) -> Result<T, E> {
        let until = Instant::now() + PATIENCE;
        loop {
            // Registered before the question, so that nothing is told unnoticed between the two.
            let told = self.told.notified();
            match ask() {
                Err(error) if is_untold(&error) => {
                    if timeout_at(until, told).await.is_err() {
                        return Err(error);
                    }
                }
                decided => return decided,
            }
        }
    }

    /// Returns what was used here and other kernels do not know, to be added to what they used. Until [`Limiter::learn`] says
    /// that it was, the next call returns it again.
    pub fn untold(&self) -> Vec<SharedUse> {
        let mut meters = self.meters.lock();
        let Meters { tables, untold } = &mut *meters;
        let mut uses = Vec::new();
        untold.retain(|(at, key, pace)| {
            // Newcomers without a meter of their own are counted by each kernel for itself.
            let Some(meter) = tables[*at].by_hash.get_mut(key) else { return false };
            meter.sent = meter.untold;
            let calls = meter.sent;
            uses.extend(pace.limited().map(|(window, RateWindow { cell, .. })| {
                let used = Duration::from_nanos(cell).as_secs_f64() * f64::from(calls);
                (self.shared_id(*at, *key, window), used, 1.0)
            }));
            true
        });
        uses
    }

    /// Notes how much all kernels have used by now, by the ids of what was [`untold`](Self::untold).
    pub fn learn(&self, used: &BTreeMap<i64, f64>) {
        let now = nanos(self.started.elapsed());
        let mut meters = self.meters.lock();
        let Meters { tables, untold } = &mut *meters;
        untold.retain(|(at, key, pace)| {
            let Some(meter) = tables[*at].by_hash.get_mut(key) else { return false };
            for (window, RateWindow { cell, .. }) in pace.limited() {
                // Nothing is known of a meter that was used first while the others were told.
                let Some(used) = used.get(&self.shared_id(*at, *key, window)) else { return true };
                let used = Duration::try_from_secs_f64(*used).unwrap_or_default();
                let later = cell.saturating_mul(u64::from(meter.untold - meter.sent));
                let free_at = &mut meter.free_at[window];
                *free_at = (*free_at).max(now.saturating_add(nanos(used)).saturating_add(later));
            }
            meter.untold -= std::mem::take(&mut meter.sent);
            meter.untold > 0
        });
        drop(meters);
        self.told.notify_waiters();
    }

    /// Returns the id of a window of a meter among all kernels.
    fn shared_id(&self, dimension: usize, key: u64, window: usize) -> i64 {
        self.key((dimension, key, window)).cast_signed()
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
            self.newcomers = RateMeter { untold: 0, ..meter };
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
/// The longest time for which a call waits until other kernels know of those before it.
const PATIENCE: Duration = Duration::from_secs(2);
/// The shortest time between two removals of idle meters.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
