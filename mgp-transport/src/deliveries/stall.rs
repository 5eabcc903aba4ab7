use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, code};
use tokio::time::{Instant, Sleep};

use super::{Deliveries, register};

/// Waits until there is room for more messages about a call, or nobody waits for them any more.
///
/// Fails when the caller has kept the connection waiting for too long in sum.
pub(crate) struct Stall {
    deliveries: Arc<Deliveries>,
    since: Instant,
    limit: Pin<Box<Sleep>>,
}

impl Stall {
    pub(crate) fn new(deliveries: &Arc<Deliveries>) -> Self {
        let since = Instant::now();
        let patience = deliveries.state.lock().patience;
        let limit = Box::pin(tokio::time::sleep_until(since + patience));
        Self { deliveries: Arc::clone(deliveries), since, limit }
    }
}

impl Future for Stall {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut state = this.deliveries.state.lock();
        if this.deliveries.has_room(&state) {
            state.connection = None;
            state.patience = state.patience.saturating_sub(this.since.elapsed());
            return Poll::Ready(Ok(()));
        }
        register(&mut state.connection, cx);
        drop(state);
        this.limit.as_mut().poll(cx).map(|()| Err(too_slow()))
    }
}

fn too_slow() -> Error {
    let message = "the reader of this call's stream is too slow: others would wait for it too long";
    Error::new(code::RESOURCE_EXHAUSTED, message)
}
