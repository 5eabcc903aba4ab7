//! Parts of a request after their look-up.

use mgp_types::mgp::MatchEvidence;

use super::fusion::{FusionWeights, Spread, evidence};
use super::relevance::share;
use crate::keyword::KeywordQuery;
use crate::slot::Slot;
use crate::vector::{QueryVector, Scores};

/// A part of a request that was looked up, by words, by meaning, or by both.
pub(super) struct SearchedPart<'a> {
    words: Option<KeywordQuery<'a>>,
    /// The number of words that the part says itself, which come first.
    own_words: usize,
    /// The tools whose name the part is, or nearly so, with the exactness.
    named: Vec<(Slot, f32)>,
    /// The likeness of all tools to the meaning of the part.
    likeness: Option<ToolSimilarity<'a>>,
    /// The distribution of the likeness of tools in general.
    typical: Spread,
}

impl<'a> SearchedPart<'a> {
    pub(super) fn new(
        words: Option<KeywordQuery<'a>>,
        own_words: usize,
        named: Vec<(Slot, f32)>,
        likeness: Option<ToolSimilarity<'a>>,
    ) -> Self {
        let typical = likeness.map_or_else(Spread::default, |ToolSimilarity { scores, query, .. }| {
            let (count, sum, squares) = scores.moments(query);
            Spread::of(count, sum, squares)
        });
        Self { words, own_words, named, likeness, typical }
    }

    /// Returns the best of each side, in no order.
    pub(super) fn best(
        &self,
        limit: usize,
        may_be_found: &dyn Fn(Slot) -> bool,
    ) -> impl Iterator<Item = Slot> {
        let words =
            self.words.iter().flat_map(move |asked| asked.best(limit, &mut |slot| may_be_found(slot)));
        let near = self.likeness.iter().flat_map(move |likeness| likeness.best(limit, may_be_found));
        words.chain(self.named.iter().copied()).map(|(slot, _)| slot).chain(near)
    }

    /// Returns the evidence for each of these tools.
    pub(super) fn evidence(&self, slots: &[Slot], weights: &FusionWeights) -> Vec<MatchEvidence> {
        let words = self.words.as_ref().map_or_else(Vec::new, |asked| {
            // A tool with nearly the wanted name counts as having all its words, however they are spelled.
            let all: f32 = asked.worth().iter().sum();
            let scores = asked.scores(slots).into_iter().zip(slots);
            scores.map(|(score, slot)| score.max(self.exactness(*slot) * all)).collect()
        });
        let likeness: Vec<_> = self
            .likeness
            .map_or_else(Vec::new, |likeness| slots.iter().map(|slot| likeness.of(*slot)).collect());
        evidence(&words, &likeness, self.typical, self.grasped(), weights)
    }

    /// Returns the fit of each of these tools, from 0 to 1.
    pub(super) fn fit(&self, slots: &[Slot]) -> Vec<f32> {
        let covered = self.words.as_ref().map(|asked| asked.coverage(slots));
        let fit = |(place, slot): (usize, &Slot)| {
            let covered = covered.as_ref().map(|covered| covered[place].max(self.exactness(*slot)));
            let likeness = self.likeness.map(|likeness| likeness.of(*slot).unwrap_or(self.typical.mean));
            share(covered, likeness, self.typical.mean, self.grasped())
        };
        slots.iter().enumerate().map(fit).collect()
    }

    /// Returns the words that the part says itself which each of these tools has, a bit for each.
    pub(super) fn words_of(&self, slots: &[Slot]) -> Vec<u64> {
        let own = u32::try_from(self.own_words).ok().and_then(|own| 1_u64.checked_shl(own)).unwrap_or(0);
        let mut had = self.words.as_ref().map_or_else(|| vec![0; slots.len()], |asked| asked.had(slots));
        for words in &mut had {
            *words &= own.wrapping_sub(1);
        }
        had
    }

    /// Returns whether the part is exactly the name of a tool.
    pub(super) fn is_called(&self, slot: Slot) -> bool {
        self.exactness(slot) >= 1.0
    }

    fn grasped(&self) -> f32 {
        self.likeness.map_or(1.0, |likeness| likeness.meaning.grasped)
    }

    fn exactness(&self, slot: Slot) -> f32 {
        self.named.iter().find(|named| named.0 == slot).map_or(0.0, |named| named.1)
    }
}

/// The meaning of a part of a request.
#[derive(Debug, Clone)]
pub(crate) struct QueryMeaning {
    pub(super) query: QueryVector,
    /// The share of the part that the meaning expresses, from 0 to 1.
    pub(super) grasped: f32,
}

impl QueryMeaning {
    /// Creates the meaning of a vector; `None` if the vector is invalid.
    pub(crate) fn of(vector: &[f32], grasped: f32) -> Option<Self> {
        let grasped = if grasped.is_finite() { grasped.clamp(0.0, 1.0) } else { 1.0 };
        Some(Self { query: QueryVector::new(vector)?, grasped })
    }
}

/// The likeness of all tools to the meaning of a part of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolSimilarity<'a> {
    pub(super) scores: &'a Scores<'a>,
    /// The number of the query.
    pub(super) query: usize,
    pub(super) meaning: &'a QueryMeaning,
}

impl ToolSimilarity<'_> {
    /// Returns the likeness of a tool; `None` if it has no vector.
    pub(super) fn of(&self, slot: Slot) -> Option<f32> {
        self.scores.of(self.query, slot)
    }

    /// Returns the most alike tools, in no order.
    pub(super) fn best(
        &self,
        limit: usize,
        may_be_found: &dyn Fn(Slot) -> bool,
    ) -> impl Iterator<Item = Slot> {
        self.scores.best(self.query, limit, may_be_found).into_iter().map(|(slot, _)| slot)
    }
}
