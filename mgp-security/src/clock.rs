//! The clock that tells the time of day, and that tests replace.

use std::sync::Arc;

use mgp_types::mgp::Timestamp;

/// The source of the time of day: grants, access entries and keys expire by it, and events are dated with it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Returns the clock of the operating system.
    pub fn system() -> Self {
        Self::new(Timestamp::now)
    }

    /// Returns a clock whose time is what `tell` returns.
    pub fn new(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Returns the current time of this clock.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

mgp_types::partial_debug!(Clock);
