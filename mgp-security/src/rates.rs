//! The rate limits of a caller, as they are configured.

use std::num::NonZeroU32;

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
    pub const fn per_minute(mut self, calls: NonZeroU32) -> Self {
        self.requests_per_minute = Some(calls);
        self
    }

    /// Limits the rate to `calls` in an hour.
    pub const fn per_hour(mut self, calls: NonZeroU32) -> Self {
        self.requests_per_hour = Some(calls);
        self
    }

    /// Limits the rate to `calls` in a day.
    pub const fn per_day(mut self, calls: NonZeroU32) -> Self {
        self.requests_per_day = Some(calls);
        self
    }
}
