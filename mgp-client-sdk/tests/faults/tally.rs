//! Counts of the events in all runs of a family.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::runner::runs_all_seeds;

/// Counts what happened in all runs of a family, so that runs in which nothing happens are no success.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<BTreeMap<&'static str, usize>>>);

impl Tally {
    pub(crate) fn count(&self, what: &'static str) {
        self.add(what, 1);
    }

    pub(crate) fn add(&self, what: &'static str, times: usize) {
        *self.0.lock().entry(what).or_default() += times;
    }

    pub(crate) fn of(&self, what: &str) -> usize {
        self.0.lock().get(what).copied().unwrap_or(0)
    }

    /// Each of these happened so often at least, unless a single seed was run.
    pub(crate) fn expect(&self, least: &[(&'static str, usize)]) {
        println!("{self:?}");
        for (what, least) in least {
            let times = self.of(what);
            assert!(times >= *least || !runs_all_seeds(), "{what}: only {times} times, of {self:?}");
        }
    }
}
