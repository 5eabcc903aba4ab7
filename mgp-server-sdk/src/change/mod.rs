//! Changes of the catalog, resources and tasks, and the listeners that get notifications of them.

mod listeners;

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

pub(crate) use self::listeners::{Listeners, MAX_SUBSCRIPTIONS, notification};

/// A change that clients may want to know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    /// The contents of the resource with this URI.
    Updated(Arc<str>),
    /// The status of the task with this id.
    Task(Arc<str>),
}

/// The changes that wait for one listener.
///
/// A change that waits already is not added again, so the number of waiting changes is bounded by the listener's
/// wishes, however slowly it reads.
#[derive(Debug)]
pub(crate) struct PendingChanges {
    state: Mutex<PendingChangesState>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct PendingChangesState {
    wanted: WantedChanges,
    waiting: BTreeSet<Change>,
    delivering: bool,
    closed: bool,
}

/// The changes that a listener wants.
pub(crate) type WantedChanges = BTreeSet<Change>;

impl PendingChanges {
    fn new(wanted: WantedChanges) -> Self {
        let state = PendingChangesState { wanted, ..PendingChangesState::default() };
        Self { state: Mutex::new(state), wake: Notify::new() }
    }

    /// Adds a change if it is wanted; returns whether the caller has to start delivering.
    fn offer(&self, change: &Change) -> bool {
        let mut state = self.state.lock();
        if state.closed || !state.wanted.contains(change) {
            return false;
        }
        state.waiting.insert(change.clone());
        let idle = !std::mem::replace(&mut state.delivering, true);
        drop(state);
        self.wake.notify_one();
        idle
    }

    /// Returns the next change; `None` when none waits: then delivering is over.
    fn take(&self) -> Option<Change> {
        let mut state = self.state.lock();
        let next = state.waiting.pop_first();
        state.delivering = next.is_some();
        next
    }

    /// Waits for the next change; `None` once the mailbox is closed.
    pub(crate) async fn next(&self) -> Option<Change> {
        loop {
            let wake = self.wake.notified();
            if let Some(change) = self.take() {
                return Some(change);
            }
            if self.state.lock().closed {
                return None;
            }
            wake.await;
        }
    }

    /// Ends the listening.
    fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_one();
    }

    /// Changes the wishes of the listener.
    fn edit<R>(&self, edit: impl FnOnce(&mut WantedChanges) -> R) -> R {
        edit(&mut self.state.lock().wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wanted_changes_wait_and_each_once() {
        let mailbox = PendingChanges::new([Change::Tools, Change::Updated("a".into())].into());
        assert!(mailbox.offer(&Change::Tools));
        assert!(!mailbox.offer(&Change::Tools));
        assert!(!mailbox.offer(&Change::Prompts));
        mailbox.offer(&Change::Updated("a".into()));
        mailbox.offer(&Change::Updated("b".into()));
        assert_eq!(mailbox.take(), Some(Change::Tools));
        assert_eq!(mailbox.take(), Some(Change::Updated("a".into())));
        assert_eq!(mailbox.take(), None);
        assert!(mailbox.offer(&Change::Tools), "delivering has to start again");
    }
}
