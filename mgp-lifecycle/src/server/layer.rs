//! The layer that gives a server its life cycle.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::future::Either;
use mgp_types::{
    BoxFuture, Error, Method, Request, RequestKind, Response, RpcService, Session, WorkRole, call_once,
};
use tower_layer::Layer;
use tower_service::Service;

use super::ServerLifecycle;
use super::admitted_call::AdmittedCall;
use super::answer::speaks_lifecycle;
use super::future::LifecycleFuture;

/// Gives a server its life. The layer makes [`LifecycleService`]s, which share it.
#[derive(Debug, Clone)]
pub struct LifecycleLayer {
    life: ServerLifecycle,
    answers: bool,
}

impl LifecycleLayer {
    /// Creates a layer that counts calls in `life` and obeys its state.
    pub const fn new(life: ServerLifecycle) -> Self {
        Self { life, answers: true }
    }

    /// Leaves the methods of §11 to the service behind the layer, which has [`ServerLifecycle::answer`] for them.
    #[must_use]
    pub const fn answered_behind(mut self) -> Self {
        self.answers = false;
        self
    }
}

impl<S> Layer<S> for LifecycleLayer {
    type Service = LifecycleService<S>;

    fn layer(&self, inner: S) -> LifecycleService<S> {
        LifecycleService { inner, life: self.life.clone(), answers: self.answers }
    }
}

/// The service of [`LifecycleLayer`].
///
/// The service sits around the whole server: inside of the era, which knows the session, and outside of all layers that
/// may have to wait. The service is always ready, so that a ping is answered at once however busy the server is; calls
/// wait for the inner service by themselves. The service reads `context.session` and `context.principal`, and notes a
/// refusal in `context.trail`.
///
/// In sessions that negotiated `lifecycle` the service answers `mgp/health/ping`, `mgp/health/status` and
/// `mgp/lifecycle/shutdown`; elsewhere these go on to the server, uncounted. The service counts every other
/// call, of any session, and refuses it with 2000, 2001 or 2002 when the server is not connected; only requests that
/// help the calls inside to finish pass then. The service allocates for refusals and its own answers, and where a call
/// has to wait for capacity. Dropping a future drops the call.
#[derive(Clone)]
pub struct LifecycleService<S> {
    inner: S,
    life: ServerLifecycle,
    answers: bool,
}

impl<S: RpcService> Service<Request> for LifecycleService<S> {
    type Response = Response;
    type Error = Error;
    type Future = LifecycleFuture<S>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if let Some(session) = &request.context.session
            && speaks_lifecycle(session)
            && is_first(&request, session)
        {
            self.life.note(session);
        }
        if self.answers
            && let Some(answer) = self.life.answer(&request)
        {
            return LifecycleFuture::answering(answer);
        }
        //= mgp §11.2
        //# finishing in-flight requests, rejecting new ones
        let visit = match request.kind {
            RequestKind::Call if request.role() != WorkRole::Apart => {
                match AdmittedCall::begin(self.life.run(), &request) {
                    Ok(visit) => Some(visit),
                    Err(error) => return LifecycleFuture::refused(error),
                }
            }
            _ => None,
        };
        // Readiness is asked for with the call that needs it. Asked for in `poll_ready`, every connection that only
        // pings would keep it, and others would lack that capacity.
        let answer = match self.inner.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Either::Left(self.inner.call(request)),
            Poll::Ready(Err(error)) => return LifecycleFuture::refused(error),
            Poll::Pending => {
                let clone = self.inner.clone();
                let inner = std::mem::replace(&mut self.inner, clone);
                Either::Right(Box::pin(call_once(inner, request)) as BoxFuture<'static, _>)
            }
        };
        LifecycleFuture { answer: Some(answer), visit }
    }
}

mgp_types::partial_debug!([S: fmt::Debug] LifecycleService<S>, self => inner: self.inner);

/// Returns whether the session can be told of changes from this request on. A stateless peer has no such moment, so
/// that each of its requests counts as it.
fn is_first(request: &Request, session: &Arc<Session>) -> bool {
    session.outbox.is_open()
        && (session.describes_each_request()
            || request.kind == RequestKind::Notify && request.method == Method::INITIALIZED)
}
