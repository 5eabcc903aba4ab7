//! The rate limits of a caller, and the meter that counts calls against them.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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
        Self { rates, windows }
    }
}

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
