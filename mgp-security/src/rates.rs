use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// How many calls a minute, an hour and a day. Each that is given holds for itself.
///
/// So many calls may come at once; then they come back evenly, one each fraction of the time. That keeps two bursts
/// from meeting at the border of two minutes, and lets at most twice the number through in any minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[must_use]
#[non_exhaustive]
pub struct Rates {
    /// A minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<NonZeroU32>,
    /// An hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_hour: Option<NonZeroU32>,
    /// A day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_day: Option<NonZeroU32>,
}

impl Rates {
    /// No limit.
    pub const fn new() -> Self {
        Self { requests_per_minute: None, requests_per_hour: None, requests_per_day: None }
    }

    /// At most `calls` a minute.
    pub const fn per_minute(mut self, calls: NonZeroU32) -> Self {
        self.requests_per_minute = Some(calls);
        self
    }

    /// At most `calls` an hour.
    pub const fn per_hour(mut self, calls: NonZeroU32) -> Self {
        self.requests_per_hour = Some(calls);
        self
    }

    /// At most `calls` a day.
    pub const fn per_day(mut self, calls: NonZeroU32) -> Self {
        self.requests_per_day = Some(calls);
        self
    }
}
