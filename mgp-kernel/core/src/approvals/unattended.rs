//! The record of parked calls whose clients do not come back.

use std::future::ready;
use std::sync::Arc;
use std::task::{Context, Waker};

use mgp_security::audit::AuditLayer;
use mgp_types::mgp::CallRecord;
use mgp_types::{BoxFuture, Error, Request, Response};
use tokio::runtime::Handle;
use tower_layer::Layer;
use tower_service::Service;

use crate::lifecycle::or_never;

/// A recorder of the outcome of a parked call whose client did not come back, so that none of its rounds records it.
pub(super) struct UnattendedCall {
    pub(super) audit: AuditLayer,
    /// The first request of the client.
    pub(super) request: Request,
}

impl UnattendedCall {
    /// Records the outcome of the call; `None` stands for a call that was given up. `trail` has the facts about it.
    pub(super) fn record(self, trail: Option<Arc<CallRecord>>, outcome: Option<Result<Response, Error>>) {
        let is_given_up = outcome.is_none();
        let mut recorded = self.audit.layer(EndedCall { trail, outcome });
        let mut record = Box::pin(recorded.call(self.request));
        // A call that is dropped is recorded as cancelled.
        let is_kept =
            !is_given_up && record.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        if is_kept && let Ok(runtime) = Handle::try_current() {
            runtime.spawn(record);
        }
    }
}

/// A service that stands for a call that is over.
#[derive(Clone)]
struct EndedCall {
    trail: Option<Arc<CallRecord>>,
    outcome: Option<Result<Response, Error>>,
}

impl Service<Request> for EndedCall {
    type Future = BoxFuture<'static, Result<Response, Error>>;

    mgp_types::always_ready!();

    fn call(&mut self, request: Request) -> Self::Future {
        if let (Some(known), Some(own)) = (&self.trail, &request.context.trail) {
            own.follow(known);
        }
        Box::pin(or_never(self.outcome.take().map(ready)))
    }
}
