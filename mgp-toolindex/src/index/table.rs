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

    /// Returns the values of a chunk, with their positions in it.
    pub(crate) fn chunk(&self, chunk: usize) -> impl Iterator<Item = (usize, &T)> {
        let values = self.chunks.get(chunk).into_iter().flat_map(|values| values.iter().enumerate());
        values.filter_map(|(place, value)| Some((place, value.as_ref()?)))
    }

    /// Returns whether another table has the very same chunk there.
    pub(crate) fn shares(&self, chunk: usize, other: &Self) -> bool {
        let both = self.chunks.get(chunk).zip(other.chunks.get(chunk));
        both.is_some_and(|(one, two)| Arc::ptr_eq(one, two))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        let values = self.chunks.iter().enumerate().flat_map(|(number, chunk)| {
            chunk.iter().enumerate().map(move |(place, value)| (number * CHUNK + place, value))
        });
        values.filter_map(|(index, value)| Some((Slot(u32::try_from(index).ok()?), value.as_ref()?)))
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
