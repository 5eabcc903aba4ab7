use std::sync::Arc;

use super::lane::{Lane, Surroundings};
use crate::embed::Embedder;

/// The vectors that are searched, and those that are to be once all of them are there.
#[derive(Debug)]
pub(super) struct Lanes {
    pub(super) current: Lane,
    coming: Option<Lane>,
    begun: u64,
    surroundings: Surroundings,
}

impl Lanes {
    pub(super) fn new(embedder: Arc<dyn Embedder>, surroundings: Surroundings) -> Self {
        let current = Lane::new(0, embedder, surroundings.clone());
        Self { current, coming: None, begun: 0, surroundings }
    }

    /// Begins to collect the vectors of another embedder. What was begun before and is not complete is dropped.
    pub(super) fn begin(&mut self, embedder: Arc<dyn Embedder>) -> &mut Lane {
        self.begun += 1;
        self.coming.insert(Lane::new(self.begun, embedder, self.surroundings.clone()))
    }

    /// All that have to know of a change.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Lane> {
        std::iter::once(&mut self.current).chain(self.coming.as_mut())
    }

    /// Asks for the vectors that are not there yet.
    pub(super) fn ask(&mut self) {
        self.all().for_each(Lane::ask);
    }

    /// Lets the coming vectors take the place of the current ones if all of them are there.
    pub(super) fn change_if_complete(&mut self) {
        if let Some(complete) = self.coming.take_if(|lane| lane.is_complete()) {
            self.current = complete;
        }
    }

    /// Whether all tools have the vectors that they are to have.
    pub(super) const fn are_complete(&self) -> bool {
        self.coming.is_none() && self.current.is_complete()
    }
}
