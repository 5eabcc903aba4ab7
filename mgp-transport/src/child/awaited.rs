use std::collections::BTreeSet;

use parking_lot::Mutex;

/// Notes that a child process has somebody who takes notice of its end, until this is dropped.
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

/// Returns whether the child process `id` is one of this module's, whose end is awaited here. A process that also adopts
/// what its servers leave behind must not take notice of the end of these.
pub fn is_awaited(id: u32) -> bool {
    AWAITED.lock().contains(&id)
}

static AWAITED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
