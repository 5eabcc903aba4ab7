use crate::Tool;
use crate::slot::Slot;

use super::Snapshot;
use super::slots::Slots;

/// Which tools of a [`Snapshot`] an agent may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    slots: Slots,
    count: usize,
    generation: u64,
}

impl Sight {
    /// Asks for each tool of a snapshot.
    pub fn of(snapshot: &Snapshot, mut sees: impl FnMut(&Tool) -> bool) -> Self {
        let (mut slots, mut count) = (Slots::default(), 0);
        for (slot, _) in snapshot.tools.iter().filter(|(_, tool)| sees(tool)) {
            slots.insert(slot);
            count += 1;
        }
        Self { slots, count, generation: snapshot.generation }
    }

    /// How many tools it sees.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Whether it was made of this snapshot; of another one it would see other tools.
    pub const fn is_of(&self, snapshot: &Snapshot) -> bool {
        self.generation == snapshot.generation
    }

    pub(crate) fn sees(&self, slot: Slot) -> bool {
        self.slots.contains(slot)
    }
}
