//! The layer that ends requests whose caller loses access while they run.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_types::mgp::{AccessSource, CallRecord, Refusal, ServerId, code};
use mgp_types::{
    BoxFuture, Error, MethodRule, Principal, Request, RequestConcern, Response, RpcService, RunningCalls,
    Validity,
};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::{AccessPolicy, ServerUse};
use crate::refusal::refusal;

/// A layer that ends a running request with 1001 as soon as its caller may not make it any more: access was denied, a grant
/// was removed or expired, or the caller left a group.
///
/// The layer stands in front of the [`AccessGate`](super::AccessGate) of the same server, which decides whether a request
/// begins, and behind the layer that records. It reads `context.principal` and `context.tool`, and notes the refusal in
/// `context.trail`. Calls that may finish although their key ended also keep what its groups allowed, unless
/// an entry denies it. A request that waits costs one allocation. Dropping the future drops that of the service further in.
#[derive(Debug, Clone)]
pub struct RunningAccessLayer {
    policy: AccessPolicy,
    server: ServerId,
}

impl RunningAccessLayer {
    /// Returns a layer that holds running requests to `server` to `policy`.
    pub fn new(policy: AccessPolicy, server: ServerId) -> Self {
        Self { policy, server }
    }

    fn watched(&self, request: &Request) -> Option<WatchedUse> {
        let concern = MethodRule::of(request).map(|rule| rule.concern);
        if matches!(concern, Some(RequestConcern::Session | RequestConcern::ToolList)) {
            return None;
        }
        Some(WatchedUse {
            policy: self.policy.clone(),
            caller: request.context.principal.clone()?,
            used: ServerUse::of(request, &self.server).ok()?,
            validity: request.extensions.get().cloned(),
            record: request.context.trail.clone(),
        })
    }
}

mgp_types::layer!(RunningAccessLayer, self, inner => RunningAccess { inner, layer: self.clone() });

/// The service of [`RunningAccessLayer`].
#[derive(Debug, Clone)]
pub struct RunningAccess<S> {
    inner: S,
    layer: RunningAccessLayer,
}

impl<S: RpcService> Service<Request> for RunningAccess<S> {
    type Future = WhileAllowed<S::Future>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, request: Request) -> Self::Future {
        let watched = self.layer.watched(&request);
        WhileAllowed { call: Some(self.inner.call(request)), watched, withdrawn: None }
    }
}

/// What a running request uses, and who uses it.
struct WatchedUse {
    policy: AccessPolicy,
    caller: Principal,
    used: ServerUse,
    /// The validity of the caller's credential, if it came with one.
    validity: Option<Validity>,
    record: Option<Arc<CallRecord>>,
}

impl WatchedUse {
    /// Waits until the caller may not use this any more, and returns the refusal.
    async fn withdrawn(self) -> Error {
        let mut changes = self.policy.changes();
        while self.is_allowed() {
            // The sender belongs to the policy, which is held here, so it cannot be dropped.
            let _ = changes.changed().await;
        }
        if let Some(record) = &self.record {
            record.note_refusal(Refusal::new("access", "withdrawn"));
        }
        tracing::debug!(server = %self.used.server, rule = "withdrawn", "access refused");
        refusal(code::ACCESS_DENIED, WITHDRAWN)
    }

    fn is_allowed(&self) -> bool {
        let verdict = self.used.verdict(&self.policy, &self.caller.access_id());
        let may_finish = || {
            verdict.source == AccessSource::DefaultPolicy
                && self.validity.as_ref().and_then(Validity::ended) == Some(RunningCalls::Finish)
        };
        verdict.allows_to(&self.caller) || may_finish()
    }
}

const WITHDRAWN: &str = "your access was removed while the call was running, so it was stopped; it may have been carried out in part";

pin_project! {
    /// The future of [`RunningAccess`]: a request that runs for as long as its caller has access. Dropping it drops the
    /// request.
    #[must_use = "futures do nothing unless polled"]
    pub struct WhileAllowed<F> {
        #[pin]
        call: Option<F>,
        // The use is watched only once the request waits; many are done at the first poll.
        watched: Option<WatchedUse>,
        withdrawn: Option<BoxFuture<'static, Error>>,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for WhileAllowed<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let Some(call) = this.call.as_mut().as_pin_mut() else { return Poll::Pending };
        if let Poll::Ready(outcome) = call.poll(cx) {
            return Poll::Ready(outcome);
        }
        if let Some(watched) = this.watched.take() {
            *this.withdrawn = Some(Box::pin(watched.withdrawn()));
        }
        let Some(withdrawn) = this.withdrawn else { return Poll::Pending };
        let error = ready!(withdrawn.as_mut().poll(cx));
        this.call.set(None);
        Poll::Ready(Err(error))
    }
}

mgp_types::partial_debug!([F] WhileAllowed<F>);
