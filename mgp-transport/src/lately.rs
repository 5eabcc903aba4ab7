use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use foldhash::fast::FixedState;

/// What was made lately for some of the peers that repeat themselves, so that it need not be made again.
///
/// A key leads to one of a few places, and several keys may lead to the same one: whoever takes something out checks
/// that it is what it looked for.
#[derive(Debug)]
pub(crate) struct Lately<T> {
    places: [ArcSwapOption<T>; PLACES],
}

impl<T> Lately<T> {
    /// What was put last where `key` leads.
    pub(crate) fn get(&self, key: impl Hash) -> Guard<Option<Arc<T>>> {
        self.places[place(key)].load()
    }

    /// Puts `made` where `key` leads, in place of what is there.
    pub(crate) fn put(&self, key: impl Hash, made: T) {
        self.places[place(key)].store(Some(Arc::new(made)));
    }
}

/// Where a key leads. Whoever wants others out of their places needs no knowledge of it, so the hash has no secret.
#[expect(clippy::cast_possible_truncation, reason = "the rest is less than `PLACES`")]
fn place(key: impl Hash) -> usize {
    (FixedState::default().hash_one(key) % PLACES as u64) as usize
}

impl<T> Default for Lately<T> {
    fn default() -> Self {
        Self { places: Default::default() }
    }
}

/// How many are kept at most.
const PLACES: usize = 16;

/// How long what a peer says of itself may be to be kept, in bytes.
pub(crate) const MAX_KEPT: usize = 4 << 10;
