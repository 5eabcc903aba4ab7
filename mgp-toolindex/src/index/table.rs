//! A persistent list: cheap to copy and to change.

use std::sync::Arc;

use crate::slot::Slot;

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
        while self.chunks.len() <= chunk {
            self.chunks.push(Arc::new(Vec::new()));
        }
        let chunk = Arc::make_mut(&mut self.chunks[chunk]);
        if chunk.len() <= place {
            chunk.resize(place + 1, None);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

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
