use mgp_types::{Error, Method, RawJson, Response};
use tokio::sync::oneshot;

use crate::deliveries::{Deliveries, Feed};

/// Who waits for an answer of the peer.
pub(super) struct Waiter {
    pub(super) method: Method,
    pub(super) answer: Answering,
}

/// How the answer gets to who waits for it.
pub(super) enum Answering {
    /// By itself.
    Alone(oneshot::Sender<Result<Response, Error>>),
    /// Behind what the peer sends about the call before.
    Followed(Feed),
}

impl Answering {
    /// Hands the answer over; there is nobody to take it if the caller has given up in this moment.
    pub(super) fn answer(self, outcome: Result<RawJson, Error>) {
        match self {
            Self::Alone(waiting) => {
                let _ = waiting.send(outcome.map(Response::new));
            }
            Self::Followed(feed) => feed.deliveries().answer(outcome),
        }
    }

    /// What the caller has not taken yet, of a call that it follows.
    pub(super) fn deliveries(&self) -> Option<&std::sync::Arc<Deliveries>> {
        match self {
            Self::Alone(_) => None,
            Self::Followed(feed) => Some(feed.deliveries()),
        }
    }
}
