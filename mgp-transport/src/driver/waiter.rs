//! The waiter for an answer of the peer.

use mgp_types::{Error, Method, RawJson, Response};
use tokio::sync::oneshot;

use crate::deliveries::{Deliveries, Feed};

/// The waiter for an answer of the peer.
pub(super) struct Waiter {
    pub(super) method: Method,
    pub(super) answer: Answering,
}

/// The way of the answer to its waiter.
pub(super) enum Answering {
    /// The answer comes alone.
    Alone(oneshot::Sender<Result<Response, Error>>),
    /// The answer comes behind the peer's messages about the call.
    Followed(Feed),
}

impl Answering {
    /// Hands the answer over. The answer is lost if the caller gives up in this moment.
    pub(super) fn answer(self, outcome: Result<RawJson, Error>) {
        match self {
            Self::Alone(waiting) => {
                let _ = waiting.send(outcome.map(Response::new));
            }
            Self::Followed(feed) => feed.deliveries().answer(outcome),
        }
    }

    /// Returns the queue of messages of a followed call.
    pub(super) fn deliveries(&self) -> Option<&std::sync::Arc<Deliveries>> {
        match self {
            Self::Alone(_) => None,
            Self::Followed(feed) => Some(feed.deliveries()),
        }
    }
}
