use super::fusion::{Scored, Spread};
use super::meaning::Likeness;
use super::relevance::Fit;
use crate::keyword::Asked;
use crate::slot::Slot;

/// A part of a request that was looked up, by words, by meaning, or by both.
pub(super) struct Searched<'a> {
    words: Option<Asked<'a>>,
    /// The tools that are called what the part says, or almost so, and how exactly.
    named: Vec<(Slot, f32)>,
    /// How like all tools are to what the part means.
    likeness: Option<Likeness<'a>>,
    /// How like tools are in general.
    typical: Spread,
}

impl<'a> Searched<'a> {
    pub(super) fn new(
        words: Option<Asked<'a>>,
        named: Vec<(Slot, f32)>,
        likeness: Option<Likeness<'a>>,
    ) -> Self {
        let typical = likeness.map_or_else(Spread::default, |Likeness { scores, query, .. }| {
            let (count, sum, squares) = scores.moments(query);
            Spread::of(count, sum, squares)
        });
        Self { words, named, likeness, typical }
    }

    /// The best of each side, in no order.
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

    /// How much speaks for each of these tools.
    pub(super) fn evidence(&self, slots: &[Slot]) -> Vec<f32> {
        let words = self.words.as_ref().map_or_else(Vec::new, |asked| {
            // Who is called almost what is asked for has as good as the words of it, however they are spelled.
            let all: f32 = asked.worth().iter().sum();
            let scores = asked.scores(slots).into_iter().zip(slots);
            scores.map(|(score, slot)| score.max(self.exactness(*slot) * all)).collect()
        });
        let likeness = self
            .likeness
            .map_or_else(Vec::new, |likeness| slots.iter().map(|slot| likeness.of(*slot)).collect());
        let grasped = self.grasped();
        Scored { words, likeness, typical: self.typical, grasped }.evidence()
    }

    /// How well each of these tools fits, from 0 to 1.
    pub(super) fn fit(&self, slots: &[Slot]) -> Vec<f32> {
        let covered = self.words.as_ref().map(|asked| asked.coverage(slots));
        let fit = |(place, slot): (usize, &Slot)| {
            let covered = covered.as_ref().map(|covered| covered[place].max(self.exactness(*slot)));
            let likeness = self.likeness.map(|likeness| likeness.of(*slot).unwrap_or(self.typical.mean));
            Fit { covered, likeness, typical: self.typical.mean, grasped: self.grasped() }.share()
        };
        slots.iter().enumerate().map(fit).collect()
    }

    /// Which of its words each of these tools has, a bit for each.
    pub(super) fn words_of(&self, slots: &[Slot]) -> Vec<u64> {
        self.words.as_ref().map_or_else(|| vec![0; slots.len()], |asked| asked.had(slots))
    }

    /// How like a tool is by its own words; 0 if that was not looked at.
    pub(super) fn own_likeness(&self, slot: Slot) -> f32 {
        self.likeness.and_then(|likeness| likeness.own(slot)).unwrap_or_default()
    }

    /// Whether a tool is called just what the part says.
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
