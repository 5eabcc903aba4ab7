use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::AuditPort;
use mgp_types::{Error, Kind, Request, Response, RpcService};
use tower_layer::Layer;
use tower_service::Service;

use super::{RetryBudget, RetryFuture, RetryPolicy};

/// Makes calls again that ended in an error which says that it passes (§14.6). Makes [`Retry`] services, which share the
/// budget.
#[derive(Debug, Clone)]
pub struct RetryLayer(Arc<Settings>);

#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) policy: RetryPolicy,
    pub(super) budget: RetryBudget,
    pub(super) audit: Option<Arc<dyn AuditPort>>,
}

impl RetryLayer {
    /// Follows the advice of errors as far as `policy` lets it, within the usual budget.
    pub fn new(policy: RetryPolicy) -> Self {
        Self(Arc::new(Settings { policy, budget: RetryBudget::default(), audit: None }))
    }

    /// Within another budget, which others may share.
    #[must_use]
    pub fn with_budget(mut self, budget: RetryBudget) -> Self {
        Arc::make_mut(&mut self.0).budget = budget;
        self
    }

    /// Records each attempt that failed and is made again. What cannot be recorded is not made again.
    #[must_use]
    pub fn with_audit(mut self, port: Arc<dyn AuditPort>) -> Self {
        Arc::make_mut(&mut self.0).audit = Some(port);
        self
    }
}

impl Default for RetryLayer {
    fn default() -> Self {
        Self::new(RetryPolicy::default())
    }
}

impl<S> Layer<S> for RetryLayer {
    type Service = Retry<S>;

    fn layer(&self, inner: S) -> Retry<S> {
        Retry { inner, settings: Arc::clone(&self.0) }
    }
}

/// The service of [`RetryLayer`].
///
/// Sits within the deadline, and around whatever is to happen at each attempt. Reads the [`Deadline`](crate::call::Deadline)
/// and `context.tool`; wraps `context.outbox` where it is open.
///
/// A call is made again if all of this is true, and else its error is given back untouched:
///
/// * the error says `retryable`, the number of retries is not reached, and the pause is not absurdly long;
/// * a second time can do no harm: the method or tool is known to be repeatable, or the error tells that nothing was
///   carried out;
/// * the caller has seen no part of a result, and was asked nothing;
/// * the pause ends before the deadline;
/// * the budget of all calls pays for it;
/// * the failed attempt is recorded, if there is somebody who records.
///
/// Each attempt is a copy of the request that shares its bytes, on the same stream: whoever takes the call back finds
/// the attempt that runs. Allocates for a call with an open outbox, and to record. Dropping the future drops the attempt
/// or the pause; there is none after that.
#[derive(Debug, Clone)]
pub struct Retry<S> {
    inner: S,
    settings: Arc<Settings>,
}

impl<S: RpcService> Service<Request> for Retry<S> {
    type Response = Response;
    type Error = Error;
    type Future = RetryFuture<S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.kind == Kind::Notify {
            return RetryFuture::once(self.inner.call(request));
        }
        self.settings.budget.earn();
        RetryFuture::first(&mut self.inner, request, Arc::clone(&self.settings))
    }
}
