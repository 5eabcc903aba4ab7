//! The queue of tools whose vectors have to be made.

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
pub(crate) struct MissingVector {
    pub(crate) slot: Slot,
    pub(crate) hash: PassageHash,
    pub(crate) tool: Arc<Tool>,
    /// The number of failures that the tool caused; of several suspects each counts once.
    pub(crate) failures: u32,
}

impl MissingVector {
    pub(super) fn passage(&self) -> Passage {
        let Tool { server, name, .. } = &*self.tool;
        Passage::of(server.as_str(), name.as_str(), &self.tool.description())
    }
}

/// The tools whose vectors have to be made, each of them once, however often it changes meanwhile.
///
/// A tool stays in the queue until its vector was handed over, so that no tool is lost when an attempt is. The queue
/// needs no bound of its own, because it has no more entries than the index has tools.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<BTreeMap<Slot, MissingVector>>,
    filled: Notify,
    /// Notified once the vectors are not needed any more.
    pub(super) closed: Notify,
}

impl Queue {
    /// Adds tools; an entry of the same slot is replaced.
    pub(crate) fn extend(&self, tools: impl IntoIterator<Item = MissingVector>) {
        self.waiting.lock().extend(tools.into_iter().map(|lacking| (lacking.slot, lacking)));
        self.filled.notify_one();
    }

    /// Removes the entry of a slot that is empty now.
    pub(crate) fn forget(&self, slot: Slot) {
        self.waiting.lock().remove(&slot);
    }

    /// Waits until the queue has an entry.
    pub(super) async fn filled(&self) {
        while self.waiting.lock().is_empty() {
            self.filled.notified().await;
        }
    }

    /// Returns the next `most` entries, in the order of their slots.
    pub(super) fn after(&self, slot: Option<Slot>, most: usize) -> Vec<MissingVector> {
        let start = slot.map_or(Bound::Unbounded, Bound::Excluded);
        let waiting = self.waiting.lock();
        waiting.range((start, Bound::Unbounded)).take(most).map(|(_, lacking)| lacking.clone()).collect()
    }

    /// Removes the entry of a passage whose vector was handed over.
    pub(super) fn done(&self, slot: Slot, hash: PassageHash) {
        let mut waiting = self.waiting.lock();
        if waiting.get(&slot).is_some_and(|lacking| lacking.hash == hash) {
            waiting.remove(&slot);
        }
    }

    /// Notes that an attempt to embed this passage failed. If it did not fail `alone`, another passage may be the cause, or
    /// the embedder.
    pub(super) fn failed(&self, slot: Slot, hash: PassageHash, alone: bool) {
        if let Some(lacking) = self.waiting.lock().get_mut(&slot).filter(|lacking| lacking.hash == hash) {
            lacking.failures = if alone { lacking.failures + 1 } else { lacking.failures.max(1) };
        }
    }
}
