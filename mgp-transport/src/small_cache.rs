//! A small cache for peers that repeat themselves.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use foldhash::fast::FixedState;

/// The number of places.
const PLACES: usize = 16;

/// A small cache of values made for peers that repeat themselves.
///
/// A key leads to one of a few places, and several keys may lead to the same one: the caller checks that a value is the
/// one it looked for.
#[derive(Debug)]
pub(crate) struct SmallCache<T> {
    places: [ArcSwapOption<T>; PLACES],
}

impl<T> SmallCache<T> {
    /// Returns the value that was put last at the place of `key`.
    pub(crate) fn get(&self, key: impl Hash) -> Guard<Option<Arc<T>>> {
        self.places[place(key)].load()
    }

    /// Puts `made` at the place of `key`, instead of an earlier value.
    pub(crate) fn put(&self, key: impl Hash, made: T) {
        self.places[place(key)].store(Some(Arc::new(made)));
    }
}

/// Returns the place of a key. The hash has no secret, because a peer can force others out of their places without
/// knowing it.
#[expect(clippy::cast_possible_truncation, reason = "the rest is less than `PLACES`")]
fn place(key: impl Hash) -> usize {
    (FixedState::default().hash_one(key) % PLACES as u64) as usize
}

impl<T> Default for SmallCache<T> {
    fn default() -> Self {
        Self { places: Default::default() }
    }
}

/// The greatest length in bytes of a peer's description of itself that is kept.
pub(crate) const MAX_KEPT: usize = 4 << 10;
