use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Passage, PassageHash};
use crate::Tool;
use crate::slot::Slot;

/// A tool whose vector has to be made.
#[derive(Debug, Clone)]
pub(crate) struct Lacking {
    pub(crate) slot: Slot,
    pub(crate) hash: PassageHash,
    pub(crate) tool: Arc<Tool>,
}

impl Lacking {
    pub(super) fn passage(&self) -> Passage {
        let Tool { server, name, .. } = &*self.tool;
        Passage::of(server.as_str(), name.as_str(), &self.tool.description())
    }
}

/// The tools whose vectors have to be made, each of them once, however often it changes meanwhile.
///
/// A tool stays in it until its vector was handed over, so nothing is lost when an attempt is. It has no bound of its
/// own, since it cannot have more entries than the index has tools.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<BTreeMap<Slot, Waiting>>,
    filled: Notify,
    closed: Notify,
}

/// A tool that waits.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) lacking: Lacking,
    /// How often it is to blame for a failure; one of several that may be counts once.
    pub(super) failures: u32,
}

impl Queue {
    /// Adds tools; what waits in the same slot is replaced.
    pub(super) fn extend(&self, tools: impl IntoIterator<Item = Lacking>) {
        let tools = tools.into_iter().map(|lacking| (lacking.slot, Waiting { lacking, failures: 0 }));
        self.waiting.lock().extend(tools);
        self.filled.notify_one();
    }

    /// The slot is empty now.
    pub(super) fn forget(&self, slot: Slot) {
        self.waiting.lock().remove(&slot);
    }

    /// Nobody wants the vectors any more.
    pub(super) fn close(&self) {
        self.closed.notify_one();
    }

    /// Waits until nobody wants the vectors any more.
    pub(super) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Waits until there is something to do.
    pub(super) async fn filled(&self) {
        while self.waiting.lock().is_empty() {
            self.filled.notified().await;
        }
    }

    /// The next so many that wait, in the order of their slots.
    pub(super) fn after(&self, slot: Option<Slot>, most: usize) -> Vec<Waiting> {
        let start = slot.map_or(Bound::Unbounded, Bound::Excluded);
        let waiting = self.waiting.lock();
        waiting.range((start, Bound::Unbounded)).take(most).map(|(_, waiting)| waiting.clone()).collect()
    }

    /// The vector of this passage was handed over.
    pub(super) fn done(&self, slot: Slot, hash: PassageHash) {
        let mut waiting = self.waiting.lock();
        if waiting.get(&slot).is_some_and(|waiting| waiting.lacking.hash == hash) {
            waiting.remove(&slot);
        }
    }

    /// An attempt to embed this passage failed.
    pub(super) fn failed(&self, slot: Slot, hash: PassageHash, blame: Blame) {
        if let Some(Waiting { lacking, failures }) = self.waiting.lock().get_mut(&slot)
            && lacking.hash == hash
        {
            *failures = match blame {
                Blame::Shared => (*failures).max(1),
                Blame::Alone => *failures + 1,
            };
        }
    }
}

/// How sure it is that the passage is the cause of a failure.
#[derive(Debug, Clone, Copy)]
pub(super) enum Blame {
    /// Another passage may be, or the embedder.
    Shared,
    /// Nothing else failed.
    Alone,
}
