//! Calls to a server that fails are not made for a while.

#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::mgp::Category;
use mgp_types::{Error, Origin, code};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::refusal::unsent;
use crate::span::nanos;

mgp_types::with_defaults! {
    /// When a breaker opens, and how it closes again. By default it opens when half of at least twenty calls of thirty
    /// seconds fail, for two seconds to a minute; three calls close it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct BreakerSettings {
        /// The time span in which calls are counted.
        pub window: Duration = Duration::from_secs(30),
        /// The number of calls that have to be counted before the breaker decides anything.
        pub min_calls: NonZeroU32 = const { NonZeroU32::new(20).expect("is not zero") },
        /// The percentage of calls that have to fail for the breaker to open.
        pub failure_percent: u32 = 50,
        /// The time for which the breaker is open the first time; each further time in a row is twice as long.
        pub open_for: Duration = Duration::from_secs(2),
        /// The longest time for which the breaker is open.
        pub max_open: Duration = Duration::from_mins(1),
        /// The number of calls that go through a half-open breaker, all of which have to succeed.
        pub probes: NonZeroU32 = const { NonZeroU32::new(3).expect("is not zero") },
    }
}

/// Makes no calls to one upstream for a while when those that were made have failed. Clones share the breaker.
///
/// Only signs of a sick server count as failures: a lost connection, no answer in time, an answer that is none, and the
/// codes 2xxx and 5xxx; a call that is dropped because of its [`Deadline`](crate::call::Deadline) has failed, too. A call that is
/// not made ends in 5002, with the time to wait, marked as [not executed](mgp_types::Error::is_not_executed). Notifications, questions
/// about health, calls that end work or feed it, and those that last as long as a subscription or a task pass uncounted.
/// Allocates for a refusal. Takes a lock for a moment when a call ends, and before it begins only if the breaker is not closed.
#[derive(Debug, Clone)]
pub struct SharedBreaker(Arc<BreakerShared>);

/// A breaker, and its [sign](Breaker::sign), which is read without a lock.
#[derive(Debug)]
struct BreakerShared {
    breaker: Mutex<Breaker>,
    sign: AtomicU64,
    began: Instant,
}

impl SharedBreaker {
    /// A breaker that is closed.
    pub fn new(settings: BreakerSettings) -> Self {
        let breaker = Breaker::new(settings);
        let sign = AtomicU64::new(breaker.sign());
        Self(Arc::new(BreakerShared { breaker: Mutex::new(breaker), sign, began: Instant::now() }))
    }

    #[cfg(test)]
    pub(crate) fn state(&self) -> BreakerState {
        self.0.breaker.lock().state
    }

    /// Lets a call through.
    ///
    /// # Errors
    /// 5002 while the server is given time to recover.
    pub(in crate::call) fn admit(&self) -> Result<Pass, Error> {
        let decided = || self.change(Instant::now(), Breaker::admit).map_err(resting);
        Pass::by(self.0.sign.load(Ordering::Acquire)).map_or_else(decided, Ok)
    }

    /// Returns why a call that came now would not be let through.
    pub(in crate::call) fn refusal(&self) -> Option<Error> {
        let wait = || self.change(Instant::now(), |breaker, now| breaker.wait(now));
        Pass::by(self.0.sign.load(Ordering::Acquire)).is_none().then(wait).flatten().map(resting)
    }

    /// Hears how a call ended at `now`.
    pub(in crate::call) fn settle(&self, pass: Pass, end: CallEnd, now: Instant) {
        self.change(now, |breaker, now| breaker.settle(pass, end, now));
    }

    /// Lets a few calls through at once, however often it has opened: the server was just connected to.
    pub fn try_again(&self) {
        self.change(Instant::now(), Breaker::try_again);
    }

    fn change<T>(&self, now: Instant, change: impl FnOnce(&mut Breaker, Duration) -> T) -> T {
        let (outcome, before, after) = {
            let mut breaker = self.0.breaker.lock();
            let now = now.saturating_duration_since(self.0.began).max(breaker.latest);
            breaker.latest = now;
            let before = breaker.state;
            let outcome = change(&mut breaker, now);
            self.0.sign.store(breaker.sign(), Ordering::Release);
            (outcome, before, breaker.state)
        };
        if before != after {
            match after {
                BreakerState::Open => tracing::warn!("the server fails; it gets no calls for a while"),
                BreakerState::HalfOpen => tracing::info!("the server is tried with a few calls"),
                BreakerState::Closed => tracing::info!("the server has recovered"),
            }
        }
        outcome
    }
}

/// 5002 for a call that is not made, with the time to wait.
fn resting(wait: Duration) -> Error {
    unsent(code::UPSTREAM_UNAVAILABLE, "the server has failed too often and is given time to recover", wait)
}

/// The state of a breaker: it decides from the ends of the last calls whether further ones are made. It has no clock.
///
/// A closed breaker counts calls. Once too many of them fail, it is open and lets none through. After a while it is
/// half-open: a few calls are let through, and by them it closes, or opens for longer. If they do not end for as long as
/// it is open at most, a few others are.
///
/// Each call that is let through has a [`Pass`], to be given back with how the call ended. One that was let through
/// before the last change of state decides nothing any more.
#[derive(Debug, Clone, Default)]
struct Breaker {
    settings: BreakerSettings,
    state: BreakerState,
    /// The calls that the closed breaker has counted.
    window: Window,
    /// The time until which the breaker is open; after it, a half-open breaker no longer waits for the calls that still run.
    until: Duration,
    /// The number of calls that run, and of those that were answered, since the breaker is half-open.
    running: u32,
    answered: u32,
    /// The number of times that the state of the breaker has changed.
    changes: u64,
    /// The number of times in a row that the breaker has opened.
    openings: u32,
    /// The latest time that the breaker was told: calls read the clock before they take its lock.
    latest: Duration,
}

/// The state of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum BreakerState {
    /// Calls are made.
    #[default]
    Closed,
    /// No calls are made.
    Open,
    /// A few calls are made.
    HalfOpen,
}

/// A call that was let through.
#[derive(Debug)]
#[must_use = "a breaker has to hear how the call ended"]
pub(super) struct Pass {
    changes: u64,
}

/// The way in which the end of a call counts for its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// The server answers.
    Answered,
    /// The server fails.
    Failed,
    /// Nothing: the call was refused on the way, or was given up.
    Unknown,
}

impl CallEnd {
    /// Returns how the end of a call counts for the server.
    pub(in crate::call) fn of(error: Option<&Error>) -> Self {
        let Some(error) = error else { return Self::Answered };
        match error.origin() {
            Origin::Connection | Origin::Timeout | Origin::Misbehaved => return Self::Failed,
            Origin::Cancelled => return Self::Unknown,
            _ if error.is_not_executed() => return Self::Unknown,
            _ => {}
        }
        match (code::category(error.code()), error.origin()) {
            (Some(Category::Lifecycle | Category::External), _) => Self::Failed,
            // Whoever decides here has not asked the server.
            (_, Origin::Local) => Self::Unknown,
            _ => Self::Answered,
        }
    }
}

impl Breaker {
    /// A closed breaker that has counted nothing.
    fn new(settings: BreakerSettings) -> Self {
        Self { window: Window::new(settings.window), settings, ..Self::default() }
    }

    /// Lets a call through at `now`, the time since any fixed moment.
    ///
    /// # Errors
    /// The call is not let through; the error is how long to wait.
    fn admit(&mut self, now: Duration) -> Result<Pass, Duration> {
        if let Some(wait) = self.wait(now) {
            return Err(wait);
        }
        if self.state == BreakerState::Open || self.has_all_probes() {
            self.half_open(now);
        }
        self.running += u32::from(self.state == BreakerState::HalfOpen);
        Ok(Pass { changes: self.changes })
    }

    /// Returns how long a call has to wait that comes at `now`; `None` if it is let through.
    fn wait(&self, now: Duration) -> Option<Duration> {
        let wait = match self.state {
            BreakerState::Open => self.until.saturating_sub(now),
            BreakerState::HalfOpen if self.has_all_probes() => {
                let wait = self.until.saturating_sub(now);
                if wait.is_zero() { wait } else { wait.min(self.settings.open_for).max(SHORTEST_WAIT) }
            }
            BreakerState::Closed | BreakerState::HalfOpen => Duration::ZERO,
        };
        (!wait.is_zero()).then_some(wait)
    }

    /// Returns whether as many calls try a half-open server as may.
    fn has_all_probes(&self) -> bool {
        self.state == BreakerState::HalfOpen && self.running + self.answered >= self.settings.probes.get()
    }

    /// Hears how a call ended.
    fn settle(&mut self, Pass { changes }: Pass, end: CallEnd, now: Duration) {
        if changes != self.changes {
            return;
        }
        match (self.state, end) {
            (BreakerState::Closed, CallEnd::Answered) => self.window.count(now, false),
            (BreakerState::Closed, CallEnd::Failed) => {
                self.window.count(now, true);
                let (failed, all) = self.window.sums(now);
                let percent = u64::from(self.settings.failure_percent.clamp(1, 100));
                if all >= u64::from(self.settings.min_calls.get()) && failed * 100 >= all * percent {
                    self.open(now);
                }
            }
            (BreakerState::HalfOpen, CallEnd::Answered) => {
                self.running = self.running.saturating_sub(1);
                self.answered += 1;
                if self.answered >= self.settings.probes.get() {
                    self.openings = 0;
                    self.window = Window::new(self.settings.window);
                    self.change(BreakerState::Closed);
                }
            }
            (BreakerState::HalfOpen, CallEnd::Failed) => self.open(now),
            (BreakerState::HalfOpen, CallEnd::Unknown) => self.running = self.running.saturating_sub(1),
            (BreakerState::Closed, CallEnd::Unknown) | (BreakerState::Open, _) => {}
        }
    }

    fn try_again(&mut self, now: Duration) {
        if self.state != BreakerState::Closed {
            self.openings = 0;
            self.half_open(now);
        }
    }

    fn open(&mut self, now: Duration) {
        let factor = 1u32.checked_shl(self.openings).unwrap_or(u32::MAX);
        self.openings = self.openings.saturating_add(1);
        let time =
            self.settings.open_for.saturating_mul(factor).min(self.settings.max_open).max(SHORTEST_WAIT);
        self.until = now.saturating_add(time);
        self.change(BreakerState::Open);
    }

    /// Lets a few calls try. A call that never ends must not keep others from it for good.
    fn half_open(&mut self, now: Duration) {
        self.until = now.saturating_add(self.settings.max_open.max(SHORTEST_WAIT));
        (self.running, self.answered) = (0, 0);
        self.change(BreakerState::HalfOpen);
    }

    fn change(&mut self, state: BreakerState) {
        self.state = state;
        self.changes += 1;
    }

    /// Returns how often the state has changed, and in the last bit whether the breaker is closed.
    const fn sign(&self) -> u64 {
        self.changes << 1 | matches!(self.state, BreakerState::Closed) as u64
    }
}

impl Pass {
    /// Returns the pass through a breaker with this [sign](Breaker::sign), if it is closed.
    fn by(sign: u64) -> Option<Self> {
        (sign & 1 == 1).then_some(Self { changes: sign >> 1 })
    }
}

/// No setting makes callers come back at once.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// The numbers of calls that were answered and that failed lately. The time is cut into slices, which are forgotten one
/// by one.
#[derive(Debug, Clone, Default)]
struct Window {
    slice_nanos: u64,
    slices: [Slice; SLICES],
}

#[derive(Debug, Clone, Copy, Default)]
struct Slice {
    /// The number of the slice of time, from 1; 0 for a slice that counts nothing.
    number: u64,
    answered: u32,
    failed: u32,
}

impl Window {
    fn new(length: Duration) -> Self {
        let slice = length / u32::try_from(SLICES).unwrap_or(u32::MAX);
        Self { slice_nanos: nanos(slice).max(1), slices: [Slice::default(); SLICES] }
    }

    fn count(&mut self, now: Duration, has_failed: bool) {
        let number = self.number(now);
        let index = usize::try_from(number % SLICES as u64).unwrap_or(0);
        let slice = &mut self.slices[index];
        if slice.number != number {
            *slice = Slice { number, ..Slice::default() };
        }
        let counted = if has_failed { &mut slice.failed } else { &mut slice.answered };
        *counted = counted.saturating_add(1);
    }

    /// Returns the number of failed calls, and the number of all calls.
    fn sums(&self, now: Duration) -> (u64, u64) {
        let last = self.number(now);
        let recent = self.slices.iter().filter(|slice| slice.number + SLICES as u64 > last);
        recent.fold((0, 0), |(failed, all), slice| {
            let failures = u64::from(slice.failed);
            (failed + failures, all + failures + u64::from(slice.answered))
        })
    }

    fn number(&self, now: Duration) -> u64 {
        // Far enough from the end for sums.
        nanos(now).min(u64::MAX / 2) / self.slice_nanos + 1
    }
}

const SLICES: usize = 10;
