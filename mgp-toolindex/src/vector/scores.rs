use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::chunk::ROWS;
use crate::slot::Slot;

/// How near every vector is to each of some queries: from -1 to 1, and 1 is the same direction.
#[derive(Debug)]
pub(crate) struct Scores {
    /// Of each chunk, for each query, a score of each row.
    parts: Vec<Vec<f32>>,
    /// How many chunks there are in a part; only the last may have fewer.
    share: usize,
    queries: usize,
}

impl Scores {
    /// The score of a row that has no vector.
    pub(super) const NONE: f32 = f32::NEG_INFINITY;

    pub(super) const fn new(parts: Vec<Vec<f32>>, share: usize, queries: usize) -> Self {
        Self { parts, share, queries }
    }

    /// How near a tool is to the query of this number; `None` if it has no vector.
    pub(crate) fn of(&self, query: usize, slot: Slot) -> Option<f32> {
        let chunk = slot.index() / ROWS;
        let part = self.parts.get(chunk / self.share)?;
        let place = (chunk % self.share * self.queries + query) * ROWS + slot.index() % ROWS;
        part.get(place).copied().filter(|score| query < self.queries && *score != Self::NONE)
    }

    /// The tools that are nearest to the query of this number, the nearest first and of two equal ones that of the
    /// lower slot. Only of those that would be among them it is asked whether they fit.
    pub(crate) fn best(
        &self,
        query: usize,
        limit: usize,
        mut fits: impl FnMut(Slot) -> bool,
    ) -> Vec<(Slot, f32)> {
        if limit == 0 || query >= self.queries {
            return Vec::new();
        }
        let mut best: BinaryHeap<Near> = BinaryHeap::new();
        let mut least = Self::NONE;
        for (start, scores) in self.rows(query) {
            for (group, scores) in scores.chunks(AT_ONCE).enumerate() {
                // Most groups end here. Counting takes a few vector instructions; to stop at the first takes more.
                if scores.iter().filter(|score| **score > least).count() == 0 {
                    continue;
                }
                for (row, score) in scores.iter().enumerate() {
                    let Ok(slot) = u32::try_from(start + group * AT_ONCE + row).map(Slot) else { break };
                    if *score > least && fits(slot) {
                        best.push(Near { score: *score, slot });
                        if best.len() > limit {
                            best.pop();
                        }
                        if best.len() == limit {
                            least = best.peek().map_or(Self::NONE, |near| near.score);
                        }
                    }
                }
            }
        }
        best.into_sorted_vec().into_iter().map(|near| (near.slot, near.score)).collect()
    }

    /// The scores for one query, chunk by chunk, each with the index of its first slot.
    fn rows(&self, query: usize) -> impl Iterator<Item = (usize, &[f32])> {
        let chunks = self.parts.iter().flat_map(|part| part.chunks_exact(self.queries * ROWS));
        chunks.enumerate().map(move |(number, chunk)| (number * ROWS, &chunk[query * ROWS..][..ROWS]))
    }
}

/// A tool and its score. The greater one is the farther one, so that the heap has it on top.
#[derive(Debug, Clone, Copy)]
struct Near {
    score: f32,
    slot: Slot,
}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.slot.cmp(&other.slot))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Near {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Near {}

const AT_ONCE: usize = 32;
