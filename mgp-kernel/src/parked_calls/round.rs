//! A round of a client: a request that begins or continues a call.

use std::sync::Arc;
use std::task::Waker;

use mgp_types::{Outbox, RawJson, Request, Session};

/// A request of the client: the first of a call, or one with answers.
pub(super) struct Round {
    pub(super) session: Arc<Session>,
    pub(super) outbox: Outbox,
    /// The token under which the client gets progress in this round.
    pub(super) progress: Option<RawJson>,
    /// The waker of the task that waits for the outcome of the round.
    pub(super) waker: Option<Waker>,
}

impl Round {
    pub(super) fn of(request: &Request, session: &Arc<Session>) -> Self {
        Self {
            session: Arc::clone(session),
            outbox: request.context.outbox.clone(),
            progress: request.meta("progressToken"),
            waker: None,
        }
    }
}
