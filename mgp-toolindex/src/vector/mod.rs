//! Search by meaning: the vectors of all tools, and their likeness to a query.
//!
//! Every search looks at every vector. At the sizes in question this takes about as long as a graph over them would,
//! finds all matches, and a change costs nothing but itself.

mod chunk;
mod products;
mod query;
mod scores;

use std::sync::Arc;

use self::chunk::{Chunk, ROWS};
pub(crate) use self::query::QueryVector;
pub(crate) use self::scores::Scores;
use self::scores::scan;
use crate::slot::Slot;

/// The vectors of all tools that have one. Copies share their chunks, and a change copies one chunk.
#[derive(Debug, Clone)]
pub(crate) struct Vectors {
    dimension: usize,
    chunks: Vec<Arc<Chunk>>,
}

impl Vectors {
    /// Creates an empty set of vectors of this dimension.
    pub(crate) const fn new(dimension: usize) -> Self {
        Self { dimension, chunks: Vec::new() }
    }

    /// Sets the vector of a tool. A vector of zeros has no meaning: the tool has none then. A vector that is longer
    /// than 1 is shortened to 1, so that no tool comes nearer to all queries by the length of the vector that its
    /// server sends. Returns whether the numbers are a vector of this dimension.
    pub(crate) fn set(&mut self, slot: Slot, vector: &[f32]) -> bool {
        let Some(length) = chunk::length(vector, self.dimension) else { return false };
        if length == 0.0 {
            self.clear(slot);
            return true;
        }
        let (chunk, row) = place(slot);
        while self.chunks.len() <= chunk {
            self.chunks.push(Arc::default());
        }
        Arc::make_mut(&mut self.chunks[chunk]).set(row, vector, length);
        true
    }

    /// Removes the vector of a tool.
    pub(crate) fn clear(&mut self, slot: Slot) {
        if self.has(slot) {
            let (chunk, row) = place(slot);
            Arc::make_mut(&mut self.chunks[chunk]).clear(row);
        }
    }

    /// Returns whether a tool has a vector.
    pub(crate) fn has(&self, slot: Slot) -> bool {
        let (chunk, row) = place(slot);
        self.chunks.get(chunk).is_some_and(|chunk| chunk.has(row))
    }

    /// Returns the likeness of every vector to each of these queries; to none of them if one has another dimension.
    pub(crate) fn scan<'a>(&'a self, queries: &'a [QueryVector]) -> Scores<'a> {
        scan(&self.chunks, self.dimension, queries)
    }
}

fn place(slot: Slot) -> (usize, usize) {
    (slot.index() / ROWS, slot.index() % ROWS)
}

#[cfg(test)]
mod tests;
