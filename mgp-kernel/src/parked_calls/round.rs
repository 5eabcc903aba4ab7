use std::sync::Arc;
use std::task::Waker;

use mgp_types::{Outbox, RawJson, Request, Session};

/// What one request of the client brings: the first of a call, or one with answers.
pub(super) struct Round {
    pub(super) session: Arc<Session>,
    pub(super) outbox: Outbox,
    /// Under which the client hears of progress in this round.
    pub(super) progress: Option<RawJson>,
    /// Who waits for what the round comes to.
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
