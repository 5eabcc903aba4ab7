//! The tower service that records calls in the audit trail.

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::CallRecord;
use mgp_types::{Error, Request, Response, RpcService};
use tower_service::Service;

use super::call::{RecordSubject, RecordedCall};
use super::future::{AuditFuture, OpenCall};
use super::layer::AuditLayerSettings;
use super::trace::trace_of;
use crate::random;

/// The service of [`AuditLayer`](super::AuditLayer), whose documentation tells where it stands and what it reads and
/// writes.
///
/// The service allocates the trail for each request, and the record for requests that are recorded. Dropping its
/// future records the call as cancelled. as cancelled.
#[derive(Debug, Clone)]
pub struct Audit<S> {
    inner: S,
    settings: Arc<AuditLayerSettings>,
}

impl<S> Audit<S> {
    pub(super) const fn new(inner: S, settings: Arc<AuditLayerSettings>) -> Self {
        Self { inner, settings }
    }

    /// Returns a reference to the service inside.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the service inside.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: RpcService> Service<Request> for Audit<S> {
    type Response = Response;
    type Error = Error;
    type Future = AuditFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let subject = RecordSubject::of(&request.method);
        let trace = trace_of(&request).unwrap_or_else(random::trace_id);
        let trail = Arc::new(CallRecord::default());
        request.context.trace = Some(trace);
        request.context.trail = Some(Arc::clone(&trail));
        let mut call = RecordedCall::new(&request, subject, trace, trail, Arc::clone(&self.settings));
        if let Err(error) = call.open() {
            tracing::warn!(code = error.code(), "a call is refused because it could not be recorded");
            return AuditFuture::refused(error);
        }
        // The call is open before the service sees it, so everything from here on is recorded, a panic included.
        let open = OpenCall::new(call);
        AuditFuture::running(self.inner.call(request), open)
    }
}
