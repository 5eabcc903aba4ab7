//! The list of child processes whose end this module awaits.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// The note that this process awaits the end of a child process. Dropping it removes the note.
#[derive(Debug)]
pub(super) struct Awaited(u32);

impl Awaited {
    pub(super) fn new(id: u32) -> Self {
        AWAITED.lock().insert(id);
        Self(id)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        AWAITED.lock().remove(&self.0);
    }
}

/// Returns whether this module awaits the end of the child process `id`. A process that also adopts orphans of its
/// servers must not collect the exit status of such children.
pub fn is_awaited(id: u32) -> bool {
    AWAITED.lock().contains(&id)
}

static AWAITED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
