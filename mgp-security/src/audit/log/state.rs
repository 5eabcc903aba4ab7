//! The state that the writer of the audit log shares with its callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use mgp_types::Error;
use tokio::sync::watch;

use super::chain::LogHead;
use super::queue::Queue;

/// The state that the writer and the callers that record events share.
#[derive(Debug)]
pub(super) struct AuditLogState {
    pub(super) queue: Queue,
    /// The reason why nothing can be written now; empty while the log can be written.
    fault: ArcSwapOption<Error>,
    unrecorded: AtomicU64,
    refused: AtomicU64,
    pub(super) head: watch::Sender<LogHead>,
}

/// The number of events and calls that are missing in the log because it could not be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MissingEvents {
    /// The number of events that happened and are not recorded.
    pub(super) unrecorded: u64,
    /// The number of calls that were refused because the log could not be written.
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

    /// Sets or clears the fault that keeps the log from being written, and returns whether there was none before.
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

    /// Subtracts the counts that an event in the log has reported.
    pub(super) fn told(&self, missing: MissingEvents) {
        self.unrecorded.fetch_sub(missing.unrecorded, Ordering::Relaxed);
        self.refused.fetch_sub(missing.refused, Ordering::Relaxed);
    }
}
