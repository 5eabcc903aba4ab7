use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::Timestamp;

/// Where the time of day comes from: grants, entries and keys end by it, and events are dated with it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The clock of the system.
    pub fn system() -> Self {
        Self::new(Timestamp::now)
    }

    /// A clock that says what `tell` returns.
    pub fn new(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// What it says now.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
