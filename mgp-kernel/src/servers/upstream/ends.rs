//! The counts of the ends of servers that nobody ordered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of the ends of one server that nobody ordered. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerEnds(Arc<EndCounters>);

#[derive(Debug, Default)]
struct EndCounters {
    ended: AtomicU64,
    given_up: AtomicU64,
}

impl ServerEnds {
    pub(super) fn ended(&self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn given_up(&self) {
        self.0.given_up.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often the server ended or stopped answering, and how often it was given up.
    pub(crate) fn read(&self) -> (u64, u64) {
        (self.0.ended.load(Ordering::Relaxed), self.0.given_up.load(Ordering::Relaxed))
    }
}
