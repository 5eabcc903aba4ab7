//! The future of the life cycle's layer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Request, Response, RpcService, call_once};
use pin_project_lite::pin_project;

use super::admitted_call::AdmittedCall;

pin_project! {
    /// The future of [`LifecycleService`](super::LifecycleService).
    ///
    /// Dropping it drops the inner call, which then counts no more.
    #[must_use = "futures do nothing unless polled"]
    pub struct LifecycleFuture<S: RpcService> {
        #[pin]
        state: ServedCallState<S>,
        #[pin]
        visit: Option<AdmittedCall>,
    }
}

pin_project! {
    #[project = StateProj]
    enum ServedCallState<S: RpcService> {
        Answered { outcome: Option<Result<Response, Error>> },
        Waiting { future: BoxFuture<'static, Result<Response, Error>> },
        Called { #[pin] future: S::Future },
    }
}

impl<S: RpcService> LifecycleFuture<S> {
    /// Creates a future with an answer of the layer.
    pub(super) fn answered(outcome: Result<Response, Error>) -> Self {
        Self { state: ServedCallState::Answered { outcome: Some(outcome) }, visit: None }
    }

    /// Creates a future for an answer of the layer that takes time.
    pub(super) fn answering(future: BoxFuture<'static, Result<Response, Error>>) -> Self {
        Self { state: ServedCallState::Waiting { future }, visit: None }
    }

    /// Creates a future for an inner service that was called.
    pub(super) fn called(future: S::Future, visit: Option<AdmittedCall>) -> Self {
        Self { state: ServedCallState::Called { future }, visit }
    }

    /// Creates a future that calls the inner service once it has the capacity.
    pub(super) fn waiting(service: S, request: Request, visit: Option<AdmittedCall>) -> Self {
        let future = Box::pin(call_once(service, request));
        Self { state: ServedCallState::Waiting { future }, visit }
    }
}

impl<S: RpcService> Future for LifecycleFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Poll::Ready(outcome) = poll_state(this.state.as_mut(), cx) {
            if let Some(visit) = this.visit.as_mut().as_pin_mut() {
                visit.ended(&outcome);
            }
            this.visit.set(None);
            return Poll::Ready(outcome);
        }
        let end = this.visit.as_mut().as_pin_mut().map_or(Poll::Pending, |visit| visit.poll_end(cx));
        if end.is_ready() {
            // The handler is dropped before the call is answered, and no longer counts once it is.
            this.state.set(ServedCallState::Answered { outcome: None });
            this.visit.set(None);
        }
        end
    }
}

mgp_types::partial_debug!([S: RpcService] LifecycleFuture<S>);

fn poll_state<S: RpcService>(
    state: Pin<&mut ServedCallState<S>>,
    cx: &mut Context<'_>,
) -> Poll<Result<Response, Error>> {
    match state.project() {
        StateProj::Called { future } => future.poll(cx),
        StateProj::Answered { outcome } => {
            Poll::Ready(outcome.take().expect("a future is not polled again after it was ready"))
        }
        StateProj::Waiting { future } => future.as_mut().poll(cx),
    }
}
