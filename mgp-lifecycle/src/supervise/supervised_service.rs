//! The service that passes calls to the current incarnation of a server.

use std::future::{self, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use mgp_types::{BoxFuture, Error, Request, Response, RpcService, call_once};
use pin_project_lite::pin_project;
use tokio::sync::futures::OwnedNotified;
use tower_service::Service;

use super::live_server::{EnteredCall, InFlightCall};
use super::supervisor_shared::SupervisorShared;

/// Passes calls to the current incarnation of a supervised server, and refuses them while there is none.
///
/// The gate sits where a connection would, innermost. A refusal is 2000, 2001 or 2002, tells when to try again, and is
/// marked as [`NotExecuted`](crate::call::NotExecuted). A call is answered by the incarnation it was sent to: if that
/// one ends, so does the call, with an error of the service or of the gate
/// ([`Origin::Connection`](mgp_types::Origin)). A drain waits for calls, not for `subscriptions/listen`, which ends
/// when its server does, and lets in requests that help the others to finish: notifications, requests that end work,
/// and those that work waits for.
///
/// The gate reads no slot, and writes none. A call that is answered at once takes no lock; a call that takes longer
/// stands on the list of those that are woken at the server's end, whose lock is held for a moment. The gate allocates
/// on refusals and on waits for capacity only. Dropping the future of a call takes it back, as the service does.
pub struct SupervisedService<S> {
    shared: Arc<SupervisorShared<S>>,
}

impl<S> SupervisedService<S> {
    pub(super) const fn new(shared: Arc<SupervisorShared<S>>) -> Self {
        Self { shared }
    }
}

impl<S: RpcService + Sync> Service<Request> for SupervisedService<S> {
    type Response = Response;
    type Error = Error;
    type Future = SupervisedServiceFuture<S>;

    /// Always ready: the incarnation that gets the call is asked for capacity.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    //= mgp §11.2
    //# Graceful shutdown initiated — finishing in-flight requests, rejecting new ones
    fn call(&mut self, request: Request) -> Self::Future {
        let state = match self.shared.enter(&request) {
            Some(entered) => SupervisedCallState::entered(entered, request),
            None => SupervisedCallState::refused(self.shared.refusal()),
        };
        SupervisedServiceFuture { state }
    }
}

impl<S> Clone for SupervisedService<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

mgp_types::partial_debug!([S] SupervisedService<S>, self => server: self.shared.server);

pin_project! {
    /// The future of [`SupervisedService`].
    #[must_use = "futures do nothing unless polled"]
    pub struct SupervisedServiceFuture<S>
    where
        S: Service<Request>,
    {
        #[pin]
        state: SupervisedCallState<S>,
    }
}

pin_project! {
    #[project = StateProj]
    enum SupervisedCallState<S>
    where
        S: Service<Request>,
    {
        Waiting { outcome: BoxFuture<'static, Result<Response, Error>> },
        Called {
            #[pin]
            answer: S::Future,
            #[pin]
            over: OwnedNotified,
            call: Option<InFlightCall<S>>,
        },
    }
}

impl<S: RpcService + Sync> SupervisedCallState<S> {
    fn refused(error: Error) -> Self {
        Self::Waiting { outcome: Box::pin(future::ready(Err(error))) }
    }

    /// Sends a call that was let in, as soon as its incarnation has the capacity.
    fn entered(entered: EnteredCall<S>, request: Request) -> Self {
        let mut service = entered.call.service().clone();
        match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => {
                let EnteredCall { call, over } = entered;
                Self::Called { answer: service.call(request), over, call: Some(call) }
            }
            Poll::Ready(Err(error)) => Self::refused(error),
            Poll::Pending => Self::Waiting { outcome: Box::pin(carry_out(entered, service, request)) },
        }
    }
}

impl<S: RpcService + Sync> Future for SupervisedServiceFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Waiting { outcome } => outcome.as_mut().poll(cx),
            StateProj::Called { answer, over, call } => {
                let outcome = match answer.poll(cx) {
                    Poll::Ready(outcome) => outcome,
                    // The service is polled first: its answer may be there, and its own error tells more.
                    Poll::Pending => {
                        ready!(over.poll(cx));
                        Err(ended_early())
                    }
                };
                // The call counts as answered, whenever its future is dropped.
                if let Some(call) = call.take() {
                    call.ended(&outcome);
                }
                Poll::Ready(outcome)
            }
        }
    }
}

/// Carries out a call that has to wait until its incarnation has the capacity.
async fn carry_out<S: RpcService>(
    EnteredCall { call, over }: EnteredCall<S>,
    service: S,
    request: Request,
) -> Result<Response, Error> {
    let outcome = tokio::select! {
        biased;
        outcome = call_once(service, request) => outcome,
        () = over => Err(ended_early()),
    };
    call.ended(&outcome);
    outcome
}

fn ended_early() -> Error {
    Error::disconnected("the server ended before it answered")
}

mgp_types::partial_debug!([S: Service<Request>] SupervisedServiceFuture<S>);
