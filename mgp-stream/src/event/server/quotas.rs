//! The limits of subscriptions.

use std::time::Duration;

use super::buffer::Bounds;

/// The limits of the subscriptions of clients, and of the memory for them.
#[derive(Debug, Clone)]
pub(in crate::event) struct EventQuotas {
    /// The number of subscriptions of one owner: a principal, or the session of an anonymous client. A principal that
    /// wants one more loses the subscription that it has not used for longest, if that one goes nowhere.
    pub(in crate::event) per_owner: usize,
    /// The number of subscriptions in all. Anonymous clients have half of them, so that they leave room for others.
    pub(in crate::event) in_all: usize,
    /// The number of names and patterns of channels that a subscription may list.
    pub(in crate::event) channels: usize,
    /// The time for which a subscription is kept that is neither connected nor asked for.
    pub(in crate::event) idle_timeout: Duration,
    /// The events of a subscription that can be sent again. The last event is kept however large it is; subscriptions
    /// share the data of an event, so that all of them together take less than the sum.
    pub(in crate::event) bounds: Bounds,
}

impl EventQuotas {
    /// Returns the usual quotas: 32 subscriptions of one owner, 1,024 in all, 64 channels in each; an unused one is
    /// kept for an hour; the last 1,000 events of each, or 4 MiB of them, can be sent again.
    pub(in crate::event) const fn new() -> Self {
        Self {
            per_owner: 32,
            in_all: 1024,
            channels: 64,
            idle_timeout: Duration::from_hours(1),
            bounds: Bounds { events: 1000, bytes: 4 * 1024 * 1024 },
        }
    }
}
