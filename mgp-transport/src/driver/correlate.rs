//! The tables of a connection, without IO or time: waiting requests, batches, and streams of requests.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use mgp_types::{Id, Method, StreamId};
use tokio::task::AbortHandle;

use super::wire::Waiter;
use crate::about::number;

/// The requests of one connection that wait for an answer, ours and the peer's apart: the same id may be in use in both
/// directions. The tables know nothing of IO or time.
#[derive(Default)]
pub(super) struct Correlation {
    /// The requests that this side sent.
    pub(super) ours: HashMap<i64, Waiter, RandomState>,
    /// The peer's requests in work.
    pub(super) theirs: HashMap<Id, PeerRequest, RandomState>,
}

/// A request of the peer that goes on in a task.
pub(super) struct PeerRequest {
    pub(super) task: AbortHandle,
    pub(super) batch: Option<BatchId>,
    pub(super) stream: StreamId,
    pub(super) method: Method,
}

impl Correlation {
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

    /// Ends the peer's request on `stream`; another request may have its id by now.
    pub(super) fn ended(&mut self, id: Id, stream: StreamId) -> Option<(Id, PeerRequest)> {
        match self.theirs.entry(id) {
            Entry::Occupied(known) if known.get().stream == stream => Some(known.remove_entry()),
            _ => None,
        }
    }

    /// Returns the id of the peer's request on `stream`.
    pub(super) fn find(&self, stream: StreamId) -> Option<&Id> {
        self.theirs.iter().find(|(_, work)| work.stream == stream).map(|(id, _)| id)
    }
}

/// The number of a batch.
pub(super) type BatchId = u64;

/// The batches with unanswered requests: the answers of a batch go back together.
#[derive(Debug, Default)]
pub(super) struct Batches {
    open: HashMap<BatchId, Answers>,
    next: u64,
}

#[derive(Debug, Default)]
struct Answers {
    awaited: usize,
    written: Vec<u8>,
}

impl Batches {
    /// Opens a batch; it stays open until [`answered`](Self::answered) was called once for each request,
    /// and once for the batch itself when all its requests are known.
    pub(super) fn open(&mut self) -> BatchId {
        let id = self.next;
        self.next += 1;
        self.open.insert(id, Answers { awaited: 1, written: Vec::new() });
        id
    }

    /// Notes that one more answer belongs to the batch.
    pub(super) fn expect(&mut self, id: Option<BatchId>) {
        if let Some(answers) = id.and_then(|id| self.open.get_mut(&id)) {
            answers.awaited += 1;
        }
    }

    /// Adds an answer, or none for a request that was taken back; the last one returns the whole batch.
    pub(super) fn answered(&mut self, id: BatchId, write: impl FnOnce(&mut Vec<u8>)) -> Option<Vec<u8>> {
        let answers = self.open.get_mut(&id)?;
        let before = answers.written.len();
        answers.written.push(if before == 0 { b'[' } else { b',' });
        write(&mut answers.written);
        if answers.written.len() == before + 1 {
            answers.written.truncate(before);
        }
        answers.awaited -= 1;
        if answers.awaited > 0 {
            return None;
        }
        let mut written = self.open.remove(&id)?.written;
        if written.is_empty() {
            return None;
        }
        written.push(b']');
        Some(written)
    }
}

/// The requests of the peer by stream, for the few whose messages name their request.
///
/// A stream is searched for among all requests in work once, and not with every message on it.
#[derive(Debug, Default)]
pub(super) struct RequestStreams(HashMap<StreamId, NamedRequest, RandomState>);

#[derive(Debug)]
struct NamedRequest {
    id: Id,
    is_subscription: bool,
}

impl RequestStreams {
    /// Notes the stream of a request. All messages of a subscription name it.
    pub(super) fn named(&mut self, stream: StreamId, id: Id, is_subscription: bool) {
        self.0.insert(stream, NamedRequest { id, is_subscription });
    }

    /// Returns the id of the subscription that the stream belongs to.
    pub(super) fn subscription(&self, stream: StreamId) -> Option<&Id> {
        self.0.get(&stream).filter(|named| named.is_subscription).map(|named| &named.id)
    }

    /// Returns the id of the request that the stream belongs to; `find` searches for it the first time.
    pub(super) fn id(&mut self, stream: StreamId, find: impl FnOnce() -> Option<Id>) -> Option<&Id> {
        Some(match self.0.entry(stream) {
            Entry::Occupied(known) => &known.into_mut().id,
            Entry::Vacant(new) => &new.insert(NamedRequest { id: find()?, is_subscription: false }).id,
        })
    }

    /// Forgets the stream of a request that is over.
    #[inline]
    pub(super) fn ended(&mut self, stream: StreamId) {
        if !self.0.is_empty() {
            self.0.remove(&stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_without_answers_gets_none() {
        let mut batches = Batches::default();
        let id = batches.open();
        assert_eq!(batches.answered(id, |_| {}), None);
        assert!(batches.open.is_empty());
    }

    #[test]
    fn a_stream_is_looked_for_once_and_forgotten_with_its_request() {
        let (mut streams, stream) = (RequestStreams::default(), StreamId::fresh());
        assert_eq!(streams.id(stream, || None), None);
        assert_eq!(streams.id(stream, || Some(7.into())), Some(&7.into()));
        assert_eq!(streams.id(stream, || unreachable!("it is known")), Some(&7.into()));
        assert_eq!(streams.subscription(stream), None);
        streams.ended(stream);
        assert_eq!(streams.id(stream, || None), None);
    }
}
