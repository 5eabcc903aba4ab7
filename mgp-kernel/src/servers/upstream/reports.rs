//! The messages of one server about calls in work, beside their answers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::RandomState;
use mgp_types::{Outbox, RawJson, StreamId};
use parking_lot::Mutex;

use super::task_progress::TaskProgress;

/// The state of one server's messages about calls in work, beside their answers: progress, and callbacks. Clones share
/// it.
#[derive(Clone, Default)]
pub(super) struct CallReports(Arc<CallReportsInner>);

#[derive(Default)]
struct CallReportsInner {
    progress: Mutex<ProgressRoutes>,
    tasks: TaskProgress,
    called_back: Mutex<HashSet<StreamId, RandomState>>,
    /// The number of calls that were called back about, so that calls of a server without callbacks take no lock.
    count: AtomicUsize,
}

#[derive(Default)]
struct ProgressRoutes {
    /// The number of callers so far, under which the server reports. No two calls have the same number.
    count: u64,
    callers: HashMap<u64, (Outbox, RawJson), RandomState>,
}

impl CallReports {
    /// Notes a caller that wants progress, and returns the number under which the server is to report it.
    pub(super) fn enter(&self, outbox: Outbox, token: RawJson) -> u64 {
        let mut progress = self.0.progress.lock();
        progress.count += 1;
        let number = progress.count;
        progress.callers.insert(number, (outbox, token));
        number
    }

    /// Returns the caller that gets the progress under this number, and its own token.
    pub(super) fn reported(&self, number: u64) -> Option<(Outbox, RawJson)> {
        self.0.progress.lock().callers.get(&number).cloned()
    }

    pub(super) fn leave(&self, number: u64) {
        let caller = self.0.progress.lock().callers.remove(&number);
        // Dropped without the lock: the way back to a client may end with it.
        drop(caller);
    }

    /// Returns the tasks that calls have become.
    pub(super) fn tasks(&self) -> &TaskProgress {
        &self.0.tasks
    }

    /// Notes that the server calls back about the call with this stream.
    pub(super) fn call_back(&self, stream: StreamId) {
        let mut called_back = self.0.called_back.lock();
        called_back.insert(stream);
        self.0.count.store(called_back.len(), Ordering::Release);
    }

    /// Forgets a call that is over. Returns whether it was called back about.
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
