//! Numbers of tools, sets of them and lists by them, and the best of them by score.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

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
    /// Puts a slot into the set, or takes it out.
    pub(crate) fn set(&mut self, slot: Slot, is_in: bool) {
        let (word, bit) = place(slot);
        self.bits.resize(self.bits.len().max(word + 1), 0);
        self.bits[word] &= !bit;
        if is_in {
            self.bits[word] |= bit;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(crate) fn contains(&self, slot: Slot) -> bool {
        let (word, bit) = place(slot);
        self.bits.get(word).is_some_and(|bits| bits & bit != 0)
    }
}

const fn place(slot: Slot) -> (usize, u64) {
    (slot.index() / 64, 1 << (slot.index() % 64))
}

/// A long list that is cheap to copy and to change: copies share their chunks.
#[derive(Debug, Clone)]
pub(crate) struct ChunkedVec<T> {
    chunks: Vec<Arc<Vec<Option<T>>>>,
}

/// The number of places in a chunk: few enough to be copied for one change, many enough that a copy of the whole list
/// is short.
pub(crate) const CHUNK: usize = 512;

/// Returns the slots whose values are in a chunk.
pub(crate) fn slots_of_chunk(chunk: usize) -> impl Iterator<Item = Slot> {
    (chunk * CHUNK..(chunk + 1) * CHUNK).filter_map(|index| Some(Slot(u32::try_from(index).ok()?)))
}

impl<T: Clone> ChunkedVec<T> {
    pub(crate) const fn new() -> Self {
        Self { chunks: Vec::new() }
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&T> {
        self.chunks.get(slot.index() / CHUNK)?.get(slot.index() % CHUNK)?.as_ref()
    }

    pub(crate) fn set(&mut self, slot: Slot, value: Option<T>) {
        let (chunk, place) = (slot.index() / CHUNK, slot.index() % CHUNK);
        self.chunks.resize_with(self.chunks.len().max(chunk + 1), Arc::default);
        let chunk = Arc::make_mut(&mut self.chunks[chunk]);
        chunk.resize(chunk.len().max(place + 1), None);
        chunk[place] = value;
    }

    /// Returns the number of chunks.
    pub(crate) const fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Returns whether another table has the very same chunk there.
    pub(crate) fn shares(&self, chunk: usize, other: &Self) -> bool {
        let both = self.chunks.get(chunk).zip(other.chunks.get(chunk));
        both.is_some_and(|(one, two)| Arc::ptr_eq(one, two))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        let values = self.chunks.iter().enumerate();
        let values = values.flat_map(|(number, chunk)| slots_of_chunk(number).zip(&**chunk));
        values.filter_map(|(slot, value)| Some((slot, value.as_ref()?)))
    }
}

/// The tools with the best scores so far, as many as the limit allows.
#[derive(Debug)]
pub(crate) struct BestSlots {
    limit: usize,
    floor: f32,
    /// The worst tool is on top.
    hits: BinaryHeap<(Reverse<Score>, Slot)>,
}

impl BestSlots {
    /// Creates a collection of `limit` tools, at least one, whose scores exceed `floor`.
    pub(crate) fn new(limit: usize, floor: f32) -> Self {
        Self { limit, floor, hits: BinaryHeap::with_capacity(limit.min(1024)) }
    }

    /// Returns the score that has to be exceeded.
    pub(crate) fn least(&self) -> f32 {
        let worst = self.hits.peek().filter(|_| self.hits.len() == self.limit);
        worst.map_or(self.floor, |(Reverse(score), _)| score.0)
    }

    /// Adds a tool whose score exceeds the least one, and drops the worst if there are too many.
    pub(crate) fn push(&mut self, slot: Slot, score: f32) {
        if self.hits.len() == self.limit {
            self.hits.pop();
        }
        self.hits.push((Reverse(Score(score)), slot));
    }

    /// Returns the tools, the best first, and of two equal ones that of the lower slot.
    pub(crate) fn into_sorted(self) -> Vec<(Slot, f32)> {
        self.hits.into_sorted_vec().into_iter().map(|(Reverse(score), slot)| (slot, score.0)).collect()
    }
}

/// A number that is ordered among all others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Score(pub(crate) f32);

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Score {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_in_until_it_is_taken_out() {
        let mut slots = Slots::default();
        slots.set(Slot(3), true);
        slots.set(Slot(700), true);
        slots.set(Slot(3), false);
        slots.set(Slot(60_000), false);
        assert!(slots.contains(Slot(700)) && slots.len() == 1);
        assert!(![3, 636, 699, 764, 70_000].into_iter().any(|slot| slots.contains(Slot(slot))));
    }

    #[test]
    fn a_copy_keeps_what_it_had() {
        let mut table = ChunkedVec::new();
        table.set(Slot(1300), Some("a"));
        let before = table.clone();
        table.set(Slot(1300), None);
        table.set(Slot(2), Some("b"));
        assert_eq!(before.get(Slot(1300)), Some(&"a"));
        assert_eq!(before.get(Slot(2)), None);
        assert_eq!(table.iter().collect::<Vec<_>>(), [(Slot(2), &"b")]);
        assert_eq!(table.get(Slot(9999)), None);
    }
}
