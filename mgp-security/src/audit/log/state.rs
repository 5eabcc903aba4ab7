use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use mgp_types::Error;
use tokio::sync::watch;

use super::chain::LogHead;
use super::queue::Queue;

/// What the writer and those who record share.
#[derive(Debug)]
pub(super) struct AuditLogState {
    pub(super) queue: Queue,
    /// Why nothing can be written now; empty while it can.
    fault: ArcSwapOption<Error>,
    unrecorded: AtomicU64,
    refused: AtomicU64,
    pub(super) head: watch::Sender<LogHead>,
}

/// What the log does not hold, because it could not be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MissingEvents {
    /// Events of things that happened.
    pub(super) unrecorded: u64,
    /// Calls that were refused because of it.
    pub(super) refused: u64,
}

impl AuditLogState {
    pub(super) fn new(capacity: usize, head: LogHead) -> Self {
        Self {
            queue: Queue::new(capacity),
            fault: ArcSwapOption::empty(),
            unrecorded: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            head: watch::Sender::new(head),
        }
    }

    pub(super) fn fault(&self) -> Option<Error> {
        self.fault.load().as_deref().cloned()
    }

    /// Notes whether the log can be written, and returns whether it could before.
    pub(super) fn set_fault(&self, fault: Option<Error>) -> bool {
        self.fault.swap(fault.map(Arc::new)).is_none()
    }

    pub(super) fn count_unrecorded(&self, events: usize) {
        self.unrecorded.fetch_add(events as u64, Ordering::Relaxed);
    }

    pub(super) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn missing(&self) -> MissingEvents {
        MissingEvents {
            unrecorded: self.unrecorded.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Takes what was told in the log out of the counts.
    pub(super) fn told(&self, missing: MissingEvents) {
        self.unrecorded.fetch_sub(missing.unrecorded, Ordering::Relaxed);
        self.refused.fetch_sub(missing.refused, Ordering::Relaxed);
    }
}
