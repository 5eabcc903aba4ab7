use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::RandomState;
use mgp_types::{Outbox, RawJson, StreamId};
use parking_lot::Mutex;

use super::task_progress::TaskProgress;

/// What one server says about calls in work, beside their answers: progress, and what it calls back about. Clones are
/// the same.
#[derive(Clone, Default)]
pub(super) struct CallReports(Arc<CallReportsInner>);

#[derive(Default)]
struct CallReportsInner {
    progress: Mutex<ProgressRoutes>,
    tasks: TaskProgress,
    called_back: Mutex<HashSet<StreamId, RandomState>>,
    /// How many were called back, so that calls of a server that never does take no lock.
    count: AtomicUsize,
}

#[derive(Default)]
struct ProgressRoutes {
    /// How many there ever were; what the server reports under. No two calls have the same.
    count: u64,
    callers: HashMap<u64, (Outbox, RawJson), RandomState>,
}

impl CallReports {
    /// Notes a caller that wants to hear of progress, and returns what the server is to report under.
    pub(super) fn enter(&self, outbox: Outbox, token: RawJson) -> u64 {
        let mut progress = self.0.progress.lock();
        progress.count += 1;
        let number = progress.count;
        progress.callers.insert(number, (outbox, token));
        number
    }

    /// The caller that hears of progress under our number, and what the caller calls it.
    pub(super) fn reported(&self, number: u64) -> Option<(Outbox, RawJson)> {
        self.0.progress.lock().callers.get(&number).cloned()
    }

    pub(super) fn leave(&self, number: u64) {
        let caller = self.0.progress.lock().callers.remove(&number);
        // Not under the lock: the way back to a client may end with it.
        drop(caller);
    }

    /// The tasks that calls have become.
    pub(super) fn tasks(&self) -> &TaskProgress {
        &self.0.tasks
    }

    /// The server calls back about the call with this stream.
    pub(super) fn call_back(&self, stream: StreamId) {
        let mut called_back = self.0.called_back.lock();
        called_back.insert(stream);
        self.0.count.store(called_back.len(), Ordering::Release);
    }

    /// The call is over; whether it was called back about.
    pub(super) fn end(&self, stream: StreamId) -> bool {
        if self.0.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let mut called_back = self.0.called_back.lock();
        let was = called_back.remove(&stream);
        self.0.count.store(called_back.len(), Ordering::Release);
        was
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tokens_of_two_calls_are_told_apart_and_forgotten_with_the_call() {
        let reports = CallReports::default();
        let token = || RawJson::from_value(&1).unwrap();
        let (own, theirs) = (StreamId::fresh(), StreamId::fresh());
        let first = reports.enter(Outbox::on(own), token());
        let second = reports.enter(Outbox::on(theirs), token());
        assert_ne!(first, second);
        let (to, named) = reports.reported(first).unwrap();
        assert_eq!((to.stream(), named.as_bytes()), (own, &b"1"[..]));
        assert_eq!(reports.reported(second).unwrap().0.stream(), theirs);
        reports.leave(first);
        assert!(reports.reported(first).is_none() && reports.reported(second).is_some());
    }

    #[test]
    fn only_the_end_of_a_call_that_was_called_back_about_is_news() {
        let reports = CallReports::default();
        let (quiet, asked) = (StreamId::fresh(), StreamId::fresh());
        assert!(!reports.end(asked));
        reports.call_back(asked);
        assert!(!reports.end(quiet));
        assert!(reports.end(asked));
        assert!(!reports.end(asked));
    }
}
