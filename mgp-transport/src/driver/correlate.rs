//! The tables of requests that wait for an answer, without IO or time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use mgp_types::Id;

use crate::about::number;

/// The requests of one connection that wait for an answer, ours and the peer's apart: the same id may be in use in both
/// directions. The tables know nothing of IO or time.
#[derive(Debug)]
pub(super) struct Correlation<Waiter, Work> {
    ours: HashMap<i64, Waiter, RandomState>,
    theirs: HashMap<Id, Work, RandomState>,
}

impl<Waiter, Work> Default for Correlation<Waiter, Work> {
    fn default() -> Self {
        Self { ours: HashMap::default(), theirs: HashMap::default() }
    }
}

impl<Waiter, Work> Correlation<Waiter, Work> {
    /// Notes a request that this side sent.
    pub(super) fn sent(&mut self, id: i64, waiter: Waiter) {
        self.ours.insert(id, waiter);
    }

    /// Removes the waiter for the answer under this id and returns it. A second answer, a late one, and one to a
    /// request that was never sent have no waiter.
    pub(super) fn answered(&mut self, id: &Id) -> Option<Waiter> {
        self.ours.remove(&number(id)?)
    }

    /// Returns the waiter for the answer under this id.
    pub(super) fn waiter(&self, id: &Id) -> Option<&Waiter> {
        self.ours.get(&number(id)?)
    }

    /// Returns the id of the newest request of ours whose waiter is `sought`.
    pub(super) fn find_ours(&self, sought: impl Fn(&Waiter) -> bool) -> Option<i64> {
        self.ours.iter().filter(|(_, waiter)| sought(waiter)).map(|(id, _)| *id).max()
    }

    /// Notes a request of the peer that is in work.
    pub(super) fn began(&mut self, id: Id, work: Work) {
        self.theirs.insert(id, work);
    }

    /// Returns whether the peer has a request under this id in work.
    pub(super) fn is_in_work(&self, id: &Id) -> bool {
        self.theirs.contains_key(id)
    }

    /// Returns the work on the peer's request.
    pub(super) fn work(&self, id: &Id) -> Option<&Work> {
        self.theirs.get(id)
    }

    /// Returns the number of the peer's requests in work.
    pub(super) fn in_work(&self) -> usize {
        self.theirs.len()
    }

    /// Ends the peer's request; returns `None` if it was taken back before.
    pub(super) fn ended(&mut self, id: &Id) -> Option<Work> {
        self.theirs.remove(id)
    }

    /// Ends the peer's request if its work is the one that is meant; another request may have the id by now.
    pub(super) fn ended_if(&mut self, id: Id, is_meant: impl FnOnce(&Work) -> bool) -> Option<(Id, Work)> {
        match self.theirs.entry(id) {
            Entry::Occupied(known) if is_meant(known.get()) => Some(known.remove_entry()),
            _ => None,
        }
    }

    /// Returns the id of the peer's request whose work is `sought`.
    pub(super) fn find(&self, mut sought: impl FnMut(&Work) -> bool) -> Option<&Id> {
        self.theirs.iter().find(|(_, work)| sought(work)).map(|(id, _)| id)
    }

    /// Removes all waiters, when no answer will come any more.
    pub(super) fn lost(&mut self) -> impl Iterator<Item = Waiter> {
        self.ours.drain().map(|(_, waiter)| waiter)
    }

    /// Removes all work, when the peer no longer waits for it.
    pub(super) fn abandoned(&mut self) -> impl Iterator<Item = Work> {
        self.theirs.drain().map(|(_, work)| work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_the_two_directions_do_not_mix() {
        let mut table = Correlation::default();
        table.sent(1, "ours");
        table.began(Id::Number(1), "theirs");
        assert_eq!(table.ended(&Id::Number(1)), Some("theirs"));
        assert_eq!(table.answered(&Id::Number(1)), Some("ours"));
    }

    #[test]
    fn only_the_work_that_is_meant_ends() {
        let mut table: Correlation<(), _> = Correlation::default();
        table.began(Id::Number(1), "new");
        assert_eq!(table.ended_if(1.into(), |work| *work == "old"), None);
        assert_eq!(table.ended_if(1.into(), |work| *work == "new"), Some((1.into(), "new")));
        assert_eq!(table.ended_if(1.into(), |_| true), None);
    }

    #[test]
    fn a_string_and_a_number_are_different_ids() {
        let mut table = Correlation::default();
        table.sent(1, "ours");
        table.began("1".into(), "theirs");
        assert_eq!(table.answered(&"1".into()), None);
        assert_eq!(table.ended(&Id::Number(1)), None);
        assert_eq!(table.ended(&"1".into()), Some("theirs"));
    }

    #[test]
    fn a_second_answer_finds_nobody() {
        let mut table: Correlation<_, ()> = Correlation::default();
        table.sent(1, ());
        assert!(table.answered(&Id::Number(1)).is_some());
        assert!(table.answered(&Id::Number(1)).is_none());
        assert!(table.answered(&Id::Number(7)).is_none());
    }
}
