//! The streams of the peer's requests whose messages name their request.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use mgp_types::{Id, StreamId};

/// The requests of the peer by stream, for the few whose messages name their request.
///
/// A stream is searched for among all requests in work once, and not with every message on it.
#[derive(Debug, Default)]
pub(super) struct Streams(HashMap<StreamId, Named, RandomState>);

#[derive(Debug)]
struct Named {
    id: Id,
    is_subscription: bool,
}

impl Streams {
    /// Notes the stream of a subscription, all of whose messages name it.
    pub(super) fn subscribed(&mut self, stream: StreamId, id: Id) {
        self.0.insert(stream, Named { id, is_subscription: true });
    }

    /// Notes the stream of a request.
    pub(super) fn named(&mut self, stream: StreamId, id: Id) {
        self.0.insert(stream, Named { id, is_subscription: false });
    }

    /// Returns the id of the subscription that the stream belongs to.
    pub(super) fn subscription(&self, stream: StreamId) -> Option<&Id> {
        self.0.get(&stream).filter(|named| named.is_subscription).map(|named| &named.id)
    }

    /// Returns the id of the request that the stream belongs to; `find` searches for it the first time.
    pub(super) fn id(&mut self, stream: StreamId, find: impl FnOnce() -> Option<Id>) -> Option<&Id> {
        Some(match self.0.entry(stream) {
            Entry::Occupied(known) => &known.into_mut().id,
            Entry::Vacant(new) => &new.insert(Named { id: find()?, is_subscription: false }).id,
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
    fn a_stream_is_looked_for_once_and_forgotten_with_its_request() {
        let (mut streams, stream) = (Streams::default(), StreamId::fresh());
        assert_eq!(streams.id(stream, || None), None);
        assert_eq!(streams.id(stream, || Some(7.into())), Some(&7.into()));
        assert_eq!(streams.id(stream, || unreachable!("it is known")), Some(&7.into()));
        assert_eq!(streams.subscription(stream), None);
        streams.ended(stream);
        assert_eq!(streams.id(stream, || None), None);
    }

    #[test]
    fn a_subscription_is_known_from_the_start() {
        let (mut streams, stream) = (Streams::default(), StreamId::fresh());
        streams.subscribed(stream, "a".into());
        assert_eq!(streams.subscription(stream), Some(&"a".into()));
    }
}
