//! The record of parked calls whose clients do not come back.

use std::future::{pending, ready};
use std::sync::Arc;
use std::task::{Context, Waker};

use mgp_security::audit::AuditLayer;
use mgp_types::mgp::CallRecord;
use mgp_types::{BoxFuture, Error, Request, Response};
use tokio::runtime::Handle;
use tower_layer::Layer;
use tower_service::Service;

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
            follow(known, own);
        }
        match self.outcome.take() {
            Some(outcome) => Box::pin(ready(outcome)),
            None => Box::pin(pending()),
        }
    }
}

/// Copies the facts about a call to the trail of a round, so that the record of each round has them.
pub(super) fn follow(known: &CallRecord, own: &CallRecord) {
    if let Some((server, tool)) = known.target() {
        own.note_target(server, tool);
    }
    if let Some(arguments) = known.target_arguments() {
        own.note_target_arguments(arguments.clone());
    }
    if let Some(risk) = known.risk() {
        own.note_risk(risk);
    }
    if let Some(tool) = known.validated() {
        own.note_validated(tool);
    }
    if let Some(refusal) = known.refusal() {
        own.note_refusal(refusal.clone());
    }
    if let Some(approver) = known.approved_by() {
        own.note_approved_by(approver);
    }
    if let Some([asked, edited]) = known.edit() {
        own.note_edit(asked, edited);
    }
}
