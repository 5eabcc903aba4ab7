//! The service that passes calls to the current incarnation of a server.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use futures_util::future::Either;
use mgp_types::{BoxFuture, Error, Request, Response, RpcService, call_once};
use pin_project_lite::pin_project;
use tokio::sync::futures::OwnedNotified;
use tower_service::Service;

use super::supervisor_shared::{InFlightCall, SupervisorShared};

/// Passes calls to the current incarnation of a supervised server, and refuses them while there is none.
///
/// The gate sits where a connection would, innermost. A refusal is 2000, 2001 or 2002, tells when to try again, and is
/// marked as [not executed](mgp_types::Error::is_not_executed). A call is answered by the incarnation it was sent to: if that
/// one ends, so does the call, with an error of the service or of the gate
/// ([`Origin::Connection`](mgp_types::Origin)). A drain waits for calls, not for `subscriptions/listen`, which ends
/// when its server does, and lets in requests that help the others to finish: notifications, requests that end work,
/// and those that work waits for.
///
/// The gate reads no slot, and writes none. A call that is answered at once takes no lock; a call that takes longer
/// stands on the list of those that are woken at the server's end, whose lock is held for a moment. The gate allocates
/// on refusals and on waits for capacity only. Dropping the future of a call takes it back, as the service does.
pub struct SupervisedService<S> {
    pub(super) shared: Arc<SupervisorShared<S>>,
}

impl<S: RpcService + Sync> Service<Request> for SupervisedService<S> {
    type Future = SupervisedServiceFuture<S>;

    // Always ready: the incarnation that gets the call is asked for capacity.
    mgp_types::always_ready!();

    //= mgp §11.2
    //# Graceful shutdown initiated — finishing in-flight requests, rejecting new ones
    fn call(&mut self, request: Request) -> Self::Future {
        let Some((call, over)) = self.shared.enter(&request) else {
            return SupervisedServiceFuture::refused(self.shared.refusal());
        };
        let mut service = call.live.service.clone();
        // A call is sent as soon as its incarnation has the capacity.
        let answer = match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Either::Left(service.call(request)),
            Poll::Ready(Err(error)) => return SupervisedServiceFuture::refused(error),
            Poll::Pending => Either::Right(Box::pin(call_once(service, request)) as BoxFuture<'static, _>),
        };
        SupervisedServiceFuture { answer, over: Some(over), call: Some(call) }
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
        answer: Either<S::Future, BoxFuture<'static, Result<Response, Error>>>,
        // Resolves when no answer can come any more.
        #[pin]
        over: Option<OwnedNotified>,
        call: Option<InFlightCall<S>>,
    }
}

impl<S: RpcService> SupervisedServiceFuture<S> {
    fn refused(error: Error) -> Self {
        Self { answer: Either::Right(Box::pin(ready(Err(error)))), over: None, call: None }
    }
}

impl<S: RpcService + Sync> Future for SupervisedServiceFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let outcome = match this.answer.poll(cx) {
            Poll::Ready(outcome) => outcome,
            // The service is polled first: its answer may be there, and its own error tells more.
            Poll::Pending => {
                ready!(this.over.as_pin_mut().map_or(Poll::Pending, |over| over.poll(cx)));
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

mgp_types::partial_debug!([S: Service<Request>] SupervisedServiceFuture<S>);
