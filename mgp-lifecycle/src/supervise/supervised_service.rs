//! The service that passes calls to the current incarnation of a server.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::sync::futures::OwnedNotified;
use tower_service::Service;

use super::live_server::{EnteredCall, InFlightCall};
use super::supervisor_shared::SupervisorShared;

/// Passes calls to the current incarnation of a supervised server, and refuses them while there is none.
///
/// The gate sits where a connection would, innermost. A refusal is 2000, 2001 or 2002, tells when to try again, and is
/// marked as [`NotExecuted`](crate::call::NotExecuted); a call that carries [`WaitUntilReady`] waits instead. A call is answered
/// by the incarnation it was sent to: if that one ends, so does the call, with an error of the service or of the gate
/// ([`Origin::Connection`](mgp_types::Origin)). A drain waits for calls, not for `subscriptions/listen`, which ends
/// when its server does, and lets in requests that help the others to finish: notifications, requests that end work,
/// and those that work waits for.
///
/// The gate reads no slot but that extension, and writes none. A call that is answered at once takes no lock; a call
/// that waits stands on the list of those that are woken at the server's end, whose lock is held for a moment. The gate
/// allocates on refusals and waits only. Dropping the future of a call takes it back, as the service does.
pub struct SupervisedService<S> {
    shared: Arc<SupervisorShared<S>>,
}

/// An extension of a request that lets it wait for a server that is about to be connected, for this long at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a time and no more")]
pub struct WaitUntilReady(pub Duration);

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
        if let Some(entered) = self.shared.enter(&request) {
            return SupervisedServiceFuture { state: SupervisedCallState::calling(entered, request) };
        }
        let Some(&WaitUntilReady(wait)) = request.extensions.get() else {
            return SupervisedServiceFuture {
                state: SupervisedCallState::Refused { error: Some(self.shared.refusal()) },
            };
        };
        let shared = Arc::clone(&self.shared);
        let entered = Box::pin(async move { shared.enter_within(wait, request).await });
        SupervisedServiceFuture { state: SupervisedCallState::Waiting { entered } }
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
        Refused { error: Option<Error> },
        Waiting { entered: BoxFuture<'static, Result<(EnteredCall<S>, Request), Error>> },
        Calling { #[pin] calling: Calling<S> },
    }
}

pin_project! {
    /// A call that one incarnation works on.
    struct Calling<S>
    where
        S: Service<Request>,
    {
        service: S,
        // The request, until there is room for it.
        request: Option<Request>,
        #[pin]
        answer: Option<S::Future>,
        #[pin]
        over: OwnedNotified,
        call: Option<InFlightCall<S>>,
    }
}

impl<S: RpcService + Sync> Future for SupervisedServiceFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let next = match self.as_mut().project().state.project() {
                StateProj::Refused { error } => {
                    return Poll::Ready(Err(error
                        .take()
                        .expect("a future is not polled again after it was ready")));
                }
                StateProj::Calling { calling } => return calling.poll(cx),
                StateProj::Waiting { entered } => match ready!(entered.as_mut().poll(cx)) {
                    Err(error) => return Poll::Ready(Err(error)),
                    Ok((entered, request)) => SupervisedCallState::calling(entered, request),
                },
            };
            self.as_mut().project().state.set(next);
        }
    }
}

impl<S: RpcService + Sync> SupervisedCallState<S> {
    fn calling(EnteredCall { call, over }: EnteredCall<S>, request: Request) -> Self {
        let service = call.service().clone();
        let calling = Calling { service, request: Some(request), answer: None, over, call: Some(call) };
        Self::Calling { calling }
    }
}

impl<S: RpcService> Future for Calling<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let outcome = match answer(this.service, this.request, this.answer.as_mut(), cx) {
            Poll::Ready(outcome) => outcome,
            // The service is polled first: its answer may be there, and its own error tells more.
            Poll::Pending => {
                ready!(this.over.poll(cx));
                Err(Error::disconnected("the server ended before it answered"))
            }
        };
        // The call counts as answered, whenever its future is dropped.
        if let Some(call) = this.call.take() {
            call.ended(&outcome);
        }
        Poll::Ready(outcome)
    }
}

fn answer<S: RpcService>(
    service: &mut S,
    request: &mut Option<Request>,
    mut answer: Pin<&mut Option<S::Future>>,
    cx: &mut Context<'_>,
) -> Poll<Result<Response, Error>> {
    if request.is_some() {
        ready!(service.poll_ready(cx))?;
    }
    if let Some(request) = request.take() {
        answer.set(Some(service.call(request)));
    }
    match answer.as_pin_mut() {
        Some(answer) => answer.poll(cx),
        // The service failed in `poll_ready`, and that was the answer.
        None => Poll::Pending,
    }
}

mgp_types::partial_debug!([S: Service<Request>] SupervisedServiceFuture<S>);
