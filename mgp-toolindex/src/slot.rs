//! Numbers of tools.

/// The number of a tool in the index. Numbers are reused once their tool is gone, so that one has a meaning only
/// together with a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of slots, a bit for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    bits: Vec<u64>,
}

impl Slots {
    pub(crate) fn insert(&mut self, slot: Slot) {
        let (word, bit) = place(slot);
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= bit;
    }

    pub(crate) fn remove(&mut self, slot: Slot) {
        let (word, bit) = place(slot);
        if let Some(bits) = self.bits.get_mut(word) {
            *bits &= !bit;
        }
    }

    pub(crate) fn contains(&self, slot: Slot) -> bool {
        let (word, bit) = place(slot);
        self.bits.get(word).is_some_and(|bits| bits & bit != 0)
    }
}

const fn place(slot: Slot) -> (usize, u64) {
    (slot.index() / 64, 1 << (slot.index() % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_in_until_it_is_taken_out() {
        let mut slots = Slots::default();
        slots.insert(Slot(3));
        slots.insert(Slot(700));
        slots.remove(Slot(3));
        slots.remove(Slot(70_000));
        assert!(slots.contains(Slot(700)));
        assert!(![3, 636, 699, 764, 70_000].into_iter().any(|slot| slots.contains(Slot(slot))));
    }
}
