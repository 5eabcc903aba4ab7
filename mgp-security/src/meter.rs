use std::num::NonZeroU32;
use std::time::Duration;

use crate::rates::Rates;

/// [`Rates`] in the terms of a [`RateMeter`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeterPace([Option<Window>; 3]);

#[derive(Debug, Clone, Copy)]
struct Window {
    /// How many nanoseconds one call uses up.
    cell: u64,
    /// How far ahead of time calls may be.
    tolerance: u64,
}

/// How much of its rates somebody has used: for each window the time at which nothing of it is used any more, in
/// nanoseconds. This is the generic cell rate algorithm.
///
/// It is a number for each window so that all of them can be looked at before any is changed: a call that one window
/// refuses uses up nothing of the others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RateMeter([u64; 3]);

impl MeterPace {
    pub(crate) fn new(rates: Rates) -> Self {
        let Rates { requests_per_minute: minute, requests_per_hour: hour, requests_per_day: day } = rates;
        let minutes = |number| Duration::from_mins(number);
        Self([
            minute.map(|calls| Window::new(calls, minutes(1))),
            hour.map(|calls| Window::new(calls, minutes(60))),
            day.map(|calls| Window::new(calls, minutes(24 * 60))),
        ])
    }
}

impl RateMeter {
    /// How long until a call is within all rates; nothing if one is now.
    pub(crate) fn wait(&self, pace: &MeterPace, now: Duration) -> Duration {
        let now = nanos(now);
        let waits = self.0.iter().zip(&pace.0).map(|(free_at, window)| {
            window.map_or(0, |window| free_at.saturating_sub(window.tolerance).saturating_sub(now))
        });
        Duration::from_nanos(waits.max().unwrap_or(0))
    }

    /// Uses up one call of each rate.
    pub(crate) fn take(&mut self, pace: &MeterPace, now: Duration) {
        let now = nanos(now);
        for (free_at, window) in self.0.iter_mut().zip(&pace.0) {
            if let Some(window) = window {
                *free_at = (*free_at).max(now).saturating_add(window.cell);
            }
        }
    }

    /// Whether it says the same as one that was never used.
    pub(crate) fn is_idle(&self, now: Duration) -> bool {
        let now = nanos(now);
        self.0.iter().all(|free_at| *free_at <= now)
    }
}

impl Window {
    fn new(calls: NonZeroU32, length: Duration) -> Self {
        let cell = nanos(length) / u64::from(calls.get());
        Self { cell, tolerance: cell * u64::from(calls.get() - 1) }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
