//! The limits of subscriptions.

use std::time::Duration;

use super::buffer::Bounds;

/// The limits of the subscriptions of clients, and of the memory for them.
#[derive(Debug, Clone)]
#[must_use]
pub struct EventQuotas {
    pub(super) per_owner: usize,
    pub(super) in_all: usize,
    pub(super) channels: usize,
    pub(super) idle_timeout: Duration,
    pub(super) bounds: Bounds,
}

impl EventQuotas {
    /// Creates the usual quotas: 32 subscriptions of one owner, 1,024 in all, 64 channels in each; an unused one is
    /// kept for an hour; the last 1,000 events of each, or 4 MiB of them, can be sent again.
    pub const fn new() -> Self {
        Self {
            per_owner: 32,
            in_all: 1024,
            channels: 64,
            idle_timeout: Duration::from_hours(1),
            bounds: Bounds { events: 1000, bytes: 4 * 1024 * 1024 },
        }
    }

    /// Sets how many subscriptions one owner may have: a principal, or the session of an anonymous client. A principal
    /// that wants one more loses the subscription that it has not used for longest, if that one goes nowhere.
    pub const fn with_subscriptions_per_owner(mut self, most: usize) -> Self {
        self.per_owner = most;
        self
    }

    /// Sets how many subscriptions there may be in all. Anonymous clients have half of them, so that they leave room
    /// for others.
    pub const fn with_subscriptions_in_all(mut self, most: usize) -> Self {
        self.in_all = most;
        self
    }

    /// Sets how many names and patterns of channels a subscription may list.
    pub const fn with_channels(mut self, most: usize) -> Self {
        self.channels = most;
        self
    }

    /// Sets the time for which a subscription is kept that is neither connected nor asked for.
    pub const fn with_idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Sets how many events of a subscription can be sent again.
    pub const fn with_buffered_events(mut self, most: usize) -> Self {
        self.bounds.events = most;
        self
    }

    /// Sets how many bytes of data these events may have; the last event is kept however large it is. Subscriptions
    /// share the data of an event, so that all of them together take less than the sum.
    pub const fn with_buffered_bytes(mut self, most: usize) -> Self {
        self.bounds.bytes = most;
        self
    }

    /// Returns the interval of the sweep for unused subscriptions.
    pub(super) fn sweep_every(&self) -> Duration {
        (self.idle_timeout / 4).clamp(Duration::from_secs(1), Duration::from_mins(1))
    }
}

impl Default for EventQuotas {
    fn default() -> Self {
        Self::new()
    }
}
