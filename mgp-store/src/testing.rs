//! An order of changes in memory, for tests and simulations of many kernels in one process.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::{Entry, News, Order, Snapshot, StoreError, Turn};

/// An order of changes that lies in memory.
#[derive(Debug, Default)]
pub struct MemoryOrder {
    kept: Mutex<Kept>,
    is_away: AtomicBool,
}

#[derive(Debug, Default)]
struct Kept {
    snapshot: Option<Snapshot>,
    entries: Vec<Entry>,
}

impl MemoryOrder {
    /// Lets the order be out of reach, or in reach again.
    pub fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Release);
    }

    /// Changes an entry, as somebody may who has the database.
    pub fn tamper(&self, version: u64, change: impl FnOnce(&mut Vec<u8>)) {
        let mut kept = self.kept.lock();
        let entry = kept.entries.iter_mut().find(|entry| entry.version == version);
        change(&mut entry.expect("there is such an entry").body);
    }

    /// Returns how many entries are kept.
    pub fn len(&self) -> usize {
        self.kept.lock().entries.len()
    }

    /// Returns whether no entry is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn reached(&self) -> Result<MutexGuard<'_, Kept>, StoreError> {
        if self.is_away.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable("the shared order is away".into()));
        }
        Ok(self.kept.lock())
    }
}

impl Kept {
    fn since(&self, version: u64) -> News {
        let snapshot = self.snapshot.clone().filter(|copy| copy.version > version);
        let version = snapshot.as_ref().map_or(version, |copy| copy.version);
        let entries = self.entries.iter().filter(|entry| entry.version > version).cloned().collect();
        News { snapshot, entries }
    }
}

impl Order for MemoryOrder {
    fn since(&self, version: u64) -> Result<News, StoreError> {
        Ok(self.reached()?.since(version))
    }

    fn take_turn(&self, version: u64) -> Result<(News, Box<dyn Turn + '_>), StoreError> {
        let kept = self.reached()?;
        Ok((kept.since(version), Box::new(MemoryTurn { kept })))
    }

    fn store_snapshot(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        let mut kept = self.reached()?;
        kept.entries.retain(|entry| entry.version > snapshot.version);
        kept.snapshot = Some(snapshot);
        Ok(())
    }
}

struct MemoryTurn<'a> {
    kept: MutexGuard<'a, Kept>,
}

impl Turn for MemoryTurn<'_> {
    fn append(mut self: Box<Self>, entry: &Entry) -> Result<(), StoreError> {
        self.kept.entries.push(entry.clone());
        Ok(())
    }
}
