//! Search by meaning: the vectors of all tools, and their likeness to a query.
//!
//! Every search looks at every vector. At the sizes in question this takes about as long as a graph over them would,
//! finds all matches, and a change costs nothing but itself.

mod chunk;

use std::sync::Arc;

pub(crate) use self::chunk::QueryVector;
use self::chunk::{Chunk, ROWS};
use crate::slot::{BestSlots, Slot};

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
        self.chunks.resize_with(self.chunks.len().max(chunk + 1), Arc::default);
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

    /// Returns the likeness of every vector to each of these queries, in one pass over them; to none of them if one has
    /// another dimension.
    pub(crate) fn scan<'a>(&'a self, queries: &'a [QueryVector]) -> Scores<'a> {
        let size = queries.len() * ROWS;
        let comparable =
            self.dimension > 0 && queries.iter().all(|query| query.codes.len() == self.dimension);
        let mut rough = Vec::with_capacity(self.chunks.len() * size);
        for chunk in &self.chunks {
            // The space is filled here and not all at once: then it is still in the cache when the scores come.
            let start = rough.len();
            rough.resize(start + size, Scores::NONE);
            if comparable {
                chunk.score(queries, &mut rough[start..]);
            }
        }
        Scores { chunks: &self.chunks, queries, rough }
    }
}

fn place(slot: Slot) -> (usize, usize) {
    (slot.index() / ROWS, slot.index() % ROWS)
}

/// The likeness of every vector to each of some queries: from -1 to 1, where 1 is the same direction.
#[derive(Debug)]
pub(crate) struct Scores<'a> {
    chunks: &'a [Arc<Chunk>],
    queries: &'a [QueryVector],
    /// The scores of each row, by chunk and query, with the precision of a code.
    rough: Vec<f32>,
}

/// The number of lanes, which divides the rows of a chunk.
const LANES: usize = 16;

const AT_ONCE: usize = 32;

/// The number of tools, besides a quarter of those wanted, that are scored exactly: their order may change by it.
const SPARE: usize = 8;

impl Scores<'_> {
    /// The score of a row without a vector.
    const NONE: f32 = f32::NEG_INFINITY;

    /// Returns the likeness of a tool to the query of this number; `None` if the tool has no vector.
    pub(crate) fn of(&self, query: usize, slot: Slot) -> Option<f32> {
        let place = (slot.index() / ROWS * self.queries.len() + query) * ROWS + slot.index() % ROWS;
        let rough = self.rough.get(place).filter(|_| query < self.queries.len());
        let score = *rough.filter(|score| **score != Self::NONE)?;
        Some(self.exactly(query, slot, score))
    }

    /// Returns the tools that are nearest to the query of this number, the nearest first and of two equal ones that of
    /// the lower slot. `fits` is asked only about tools that would be among them.
    pub(crate) fn best(
        &self,
        query: usize,
        limit: usize,
        fits: impl FnMut(Slot) -> bool,
    ) -> Vec<(Slot, f32)> {
        if limit == 0 || query >= self.queries.len() {
            return Vec::new();
        }
        let mut best = self.roughly_best(query, limit.saturating_add(limit / 4).saturating_add(SPARE), fits);
        for (slot, score) in &mut best {
            *score = self.exactly(query, *slot, *score);
        }
        best.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        best.truncate(limit);
        best
    }

    /// Returns the number of tools with a vector, the sum of their likeness to the query of this number, and the sum of
    /// the squares.
    pub(crate) fn moments(&self, query: usize) -> (u32, f64, f64) {
        let (mut count, mut sum, mut squares) = (0, 0.0, 0.0);
        if query >= self.queries.len() {
            return (count, sum, squares);
        }
        for (_, scores) in self.rows(query) {
            // The lanes stand side by side, so that they are added by vector instructions.
            let mut lanes = [(0, 0.0_f32, 0.0_f32); LANES];
            for scores in scores.chunks_exact(LANES) {
                for (lane, score) in lanes.iter_mut().zip(scores) {
                    let (one, score) = if *score > Self::NONE { (1, *score) } else { (0, 0.0) };
                    *lane = (lane.0 + one, lane.1 + score, lane.2 + score * score);
                }
            }
            for lane in lanes {
                count += lane.0;
                sum += f64::from(lane.1);
                squares += f64::from(lane.2);
            }
        }
        (count, sum, squares)
    }

    fn roughly_best(
        &self,
        query: usize,
        limit: usize,
        mut fits: impl FnMut(Slot) -> bool,
    ) -> Vec<(Slot, f32)> {
        let mut best = BestSlots::new(limit, Self::NONE);
        let mut least = Self::NONE;
        for (start, scores) in self.rows(query) {
            for (group, scores) in scores.chunks(AT_ONCE).enumerate() {
                // Most groups end here. Counting takes a few vector instructions; stopping at the first takes more.
                if scores.iter().filter(|score| **score > least).count() == 0 {
                    continue;
                }
                for (row, score) in scores.iter().enumerate() {
                    let Ok(slot) = u32::try_from(start + group * AT_ONCE + row).map(Slot) else { break };
                    if *score > least && fits(slot) {
                        best.push(slot, *score);
                        least = best.least();
                    }
                }
            }
        }
        best.into_sorted()
    }

    fn exactly(&self, query: usize, slot: Slot, score: f32) -> f32 {
        let chunk = self.chunks.get(slot.index() / ROWS);
        let query = self.queries.get(query);
        chunk.zip(query).map_or(score, |(chunk, query)| score + chunk.correction(slot.index() % ROWS, query))
    }

    /// Returns the scores for one query, chunk by chunk, each with the index of its first slot.
    fn rows(&self, query: usize) -> impl Iterator<Item = (usize, &[f32])> {
        let chunks = self.rough.chunks_exact(self.queries.len() * ROWS);
        chunks.enumerate().map(move |(number, chunk)| (number * ROWS, &chunk[query * ROWS..][..ROWS]))
    }
}

#[cfg(test)]
mod tests;
