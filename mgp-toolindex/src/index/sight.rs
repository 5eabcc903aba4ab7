use crate::Tool;
use crate::slot::Slot;

use super::Snapshot;

/// Which tools of a [`Snapshot`] an agent may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    bits: Vec<u64>,
    count: usize,
    generation: u64,
}

impl Sight {
    /// Asks for each tool of a snapshot.
    pub fn of(snapshot: &Snapshot, mut sees: impl FnMut(&Tool) -> bool) -> Self {
        let (mut bits, mut count) = (Vec::new(), 0);
        for (slot, tool) in snapshot.tools.iter().filter(|(_, tool)| sees(tool)) {
            let (word, bit) = (slot.index() / 64, slot.index() % 64);
            if bits.len() <= word {
                bits.resize(word + 1, 0);
            }
            bits[word] |= 1 << bit;
            count += 1;
            let _: &Tool = tool;
        }
        Self { bits, count, generation: snapshot.generation }
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
        self.bits.get(slot.index() / 64).is_some_and(|word| word >> (slot.index() % 64) & 1 == 1)
    }
}
