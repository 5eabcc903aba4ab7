use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// Wakes the calls that have to go when the server ends.
///
/// Calls wait at one of several doors, so that those of different threads do not wait for each other's lock to get there.
#[derive(Debug)]
pub(super) struct Exit([Arc<Notify>; DOORS]);

impl Exit {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| Arc::default()))
    }

    /// Resolves when the server has ended, if that happens after this.
    pub(super) fn wait(&self, turn: usize) -> OwnedNotified {
        Arc::clone(&self.0[turn % DOORS]).notified_owned()
    }

    /// The server has ended.
    pub(super) fn open(&self) {
        for door in &self.0 {
            door.notify_waiters();
        }
    }
}

const DOORS: usize = 16;
