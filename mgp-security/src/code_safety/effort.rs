//! How many steps are taken to follow what a piece of code refers to.

use std::cell::Cell;

use super::syntax::Tree;

/// The steps that are left for one tree: what is nested into itself could take any number of them.
pub(super) struct Effort(Cell<usize>);

impl Effort {
    /// More steps for a longer tree.
    pub(super) fn of(tree: &Tree) -> Self {
        Self(Cell::new(MIN_EFFORT + tree.len() * EFFORT_PER_NODE))
    }

    /// Takes one step, and says whether there are more.
    pub(super) fn spend(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        !self.is_exhausted()
    }

    /// Gives up.
    pub(super) fn exhaust(&self) {
        self.0.set(0);
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.0.get() == 0
    }
}

const MIN_EFFORT: usize = 20_000;
const EFFORT_PER_NODE: usize = 30;
