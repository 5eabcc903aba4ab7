use crate::learn::Shift;
use crate::slot::Slot;
use crate::vector::{QueryVector, Scores};

/// What a part of a request means, and which tools are nearer to it by what was learned than by their own words.
#[derive(Debug, Clone)]
pub(crate) struct Meaning<'a> {
    pub(super) query: QueryVector,
    /// How much of the part it speaks of, from 0 to 1.
    pub(super) grasped: f32,
    learned: Vec<(Slot, Shift<'a>)>,
}

impl<'a> Meaning<'a> {
    /// The meaning that a vector stands for; `None` if that is none.
    pub(crate) fn of(
        vector: &[f32],
        grasped: f32,
        learned: impl FnOnce(&[f32]) -> Vec<(Slot, Shift<'a>)>,
    ) -> Option<Self> {
        let grasped = if grasped.is_finite() { grasped.clamp(0.0, 1.0) } else { 1.0 };
        Some(Self { query: QueryVector::new(vector).ok()?, grasped, learned: learned(vector) })
    }
}

/// How like all tools are to the meaning of a part of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Likeness<'a> {
    pub(super) scores: &'a Scores<'a>,
    /// The number of the query.
    pub(super) query: usize,
    pub(super) meaning: &'a Meaning<'a>,
}

impl Likeness<'_> {
    /// How like a tool is by its own words; `None` if it has no vector.
    pub(super) fn own(&self, slot: Slot) -> Option<f32> {
        self.scores.of(self.query, slot)
    }

    /// How like a tool is, with what was learned.
    pub(super) fn of(&self, slot: Slot) -> Option<f32> {
        let own = self.own(slot)?;
        let learned = self.meaning.learned.iter().find(|learned| learned.0 == slot);
        Some(learned.map_or(own, |(_, shift)| shift.score(own)))
    }

    /// The most alike, and those that may be by what was learned, in no order.
    pub(super) fn best(
        &self,
        limit: usize,
        may_be_found: &dyn Fn(Slot) -> bool,
    ) -> impl Iterator<Item = Slot> {
        let own = self.scores.best(self.query, limit, may_be_found).into_iter().map(|(slot, _)| slot);
        own.chain(self.meaning.learned.iter().map(|learned| learned.0).filter(|slot| may_be_found(*slot)))
    }
}
