//! The layer that notes standing requests.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::mgp::method;
use mgp_types::{Error, RawJson, Request, RequestKind, Response, RpcService};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::StandingRequests;
use super::state::StandingChange;

/// The service that [`StandingRequests`] makes as a layer.
///
/// The service sits around the [`SupervisedService`](crate::supervise::SupervisedService) of the server. The service reads and writes
/// no slot. The service replaces the name of the subscription that a request resumes or ends by the server's current
/// name, and refuses nothing. The service allocates, and takes a lock for a moment, for requests that stand and those
/// that take them back. Dropping the future drops the call, which is then not noted.
#[derive(Debug, Clone)]
pub struct StandingRequestsService<S> {
    inner: S,
    requests: StandingRequests,
}

impl<S> StandingRequestsService<S> {
    pub(super) const fn new(inner: S, requests: StandingRequests) -> Self {
        Self { inner, requests }
    }

    /// Returns the inner service.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S: RpcService> Service<Request> for StandingRequestsService<S> {
    type Response = Response;
    type Error = Error;
    type Future = StandingRequestsFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let wish = StandingChange::of(&request).map(|wish| Box::new((wish, self.requests.clone())));
        if wish.is_some() {
            self.requests.rename(&mut request);
        }
        StandingRequestsFuture { answer: self.inner.call(request), wish }
    }
}

impl StandingRequests {
    /// Writes the name that a subscription has now.
    fn rename(&self, request: &mut Request) {
        let subscribes = request.method.as_str() == method::EVENTS_SUBSCRIBE;
        if request.kind != RequestKind::Call
            || !subscribes && request.method.as_str() != method::EVENTS_UNSUBSCRIBE
        {
            return;
        }
        let named = request.params.text("subscription_id");
        let Some(current) = named.and_then(|id| self.0.lock().renamed(&id)) else { return };
        if let Ok(current) = RawJson::from_value(&current) {
            request.params.set("subscription_id", current);
            if request.params.contains("after_seq") {
                // The other subscription counts from its own beginning.
                request.params.remove("after_seq");
            }
        }
    }
}

pin_project! {
    /// The future of [`StandingRequestsService`].
    #[must_use = "futures do nothing unless polled"]
    pub struct StandingRequestsFuture<F> {
        #[pin]
        answer: F,
        wish: Option<Box<(StandingChange, StandingRequests)>>,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for StandingRequestsFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.answer.poll(cx));
        if let (Some(noted), Ok(response)) = (this.wish.take(), &answer) {
            let (wish, requests) = *noted;
            requests.0.lock().note(wish, response);
        }
        Poll::Ready(answer)
    }
}

mgp_types::partial_debug!([F] StandingRequestsFuture<F>, self => stands: self.wish.is_some());
