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
    /// The likeness of all tools to the meaning of the part, and the number of the query.
    likeness: Option<(&'a Scores<'a>, usize)>,
    /// The share of the part that the meaning expresses, from 0 to 1.
    grasped: f32,
    /// The distribution of the likeness of tools in general.
    typical: Spread,
}

impl<'a> SearchedPart<'a> {
    pub(super) fn new(
        words: Option<KeywordQuery<'a>>,
        own_words: usize,
        named: Vec<(Slot, f32)>,
        likeness: Option<(&'a Scores<'a>, usize)>,
        grasped: f32,
    ) -> Self {
        let typical = likeness.map_or_else(Spread::default, |(scores, query)| {
            let (count, sum, squares) = scores.moments(query);
            Spread::of(count, sum, squares)
        });
        Self { words, own_words, named, likeness, grasped, typical }
    }

    /// Returns the best of each side, in no order.
    pub(super) fn best(
        &self,
        limit: usize,
        may_be_found: &dyn Fn(Slot) -> bool,
    ) -> impl Iterator<Item = Slot> {
        let words =
            self.words.iter().flat_map(move |asked| asked.best(limit, &mut |slot| may_be_found(slot)));
        let best = move |(scores, query): (&Scores<'_>, usize)| scores.best(query, limit, may_be_found);
        let near = self.likeness.into_iter().flat_map(best);
        words.chain(self.named.iter().copied()).chain(near).map(|(slot, _)| slot)
    }

    /// Returns the evidence for each of these tools.
    pub(super) fn evidence(&self, slots: &[Slot], weights: &FusionWeights) -> Vec<MatchEvidence> {
        let words = self.words.as_ref().map_or_else(Vec::new, |asked| {
            // A tool with nearly the wanted name counts as having all its words, however they are spelled.
            let all: f32 = asked.worth.iter().sum();
            let scores = asked.scores(slots).into_iter().zip(slots);
            scores.map(|(score, slot)| score.max(self.exactness(*slot) * all)).collect()
        });
        let likeness = |(scores, query): (&Scores<'_>, usize)| {
            slots.iter().map(|slot| scores.of(query, *slot)).collect::<Vec<_>>()
        };
        let likeness = self.likeness.map(likeness).unwrap_or_default();
        evidence(&words, &likeness, self.typical, self.grasped, weights)
    }

    /// Returns the fit of each of these tools, from 0 to 1.
    pub(super) fn fit(&self, slots: &[Slot]) -> Vec<f32> {
        let covered = self.words.as_ref().map(|asked| asked.coverage(slots));
        let fit = |(place, slot): (usize, &Slot)| {
            let covered = covered.as_ref().map(|covered| covered[place].max(self.exactness(*slot)));
            let likeness = self.likeness.map(|(scores, query)| scores.of(query, *slot));
            let likeness = likeness.map(|likeness| likeness.unwrap_or(self.typical.mean));
            share(covered, likeness, self.typical.mean, self.grasped)
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
