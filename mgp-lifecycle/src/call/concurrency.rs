use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::mem;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Request, Response, RpcService, code};
use pin_project_lite::pin_project;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tower_layer::Layer;
use tower_service::Service;

use crate::methods::{is_open_ended, is_vital};
use crate::refusal::unsent;

/// Lets so many calls go to one upstream at once; the others wait in line, but not many and not for long.
///
/// The [`Concurrency`] services of a layer, and of its clones, share the limit.
#[derive(Debug, Clone)]
pub struct ConcurrencyLayer(Arc<Places>);

#[derive(Debug)]
struct Places {
    calls: Arc<Semaphore>,
    line: Arc<Semaphore>,
    patience: Duration,
    refusal: Cow<'static, str>,
}

impl ConcurrencyLayer {
    /// At most `max_calls` at once, with a line in which as many wait for at most ten seconds.
    pub fn new(max_calls: NonZeroUsize) -> Self {
        Self::with_line(max_calls, max_calls.get(), USUAL_PATIENCE)
    }

    /// At most `max_calls` at once, with a line in which `max_waiting` wait for at most `patience`.
    pub fn with_line(max_calls: NonZeroUsize, max_waiting: usize, patience: Duration) -> Self {
        let places = |number: usize| Arc::new(Semaphore::new(number.min(Semaphore::MAX_PERMITS)));
        let (calls, line) = (places(max_calls.get()), places(max_waiting));
        let refusal = Cow::Borrowed("too many calls to this server at once");
        Self(Arc::new(Places { calls, line, patience, refusal }))
    }

    /// Says this to whoever is refused: what there is too much of, and who can change it. Services that were made before
    /// say what they did.
    #[must_use]
    pub fn refusing_with(self, refusal: impl Into<Cow<'static, str>>) -> Self {
        let Places { calls, line, patience, .. } = &*self.0;
        let (calls, line) = (Arc::clone(calls), Arc::clone(line));
        Self(Arc::new(Places { calls, line, patience: *patience, refusal: refusal.into() }))
    }
}

impl<S> Layer<S> for ConcurrencyLayer {
    type Service = Concurrency<S>;

    fn layer(&self, inner: S) -> Concurrency<S> {
        Concurrency { inner, places: Arc::clone(&self.0) }
    }
}

/// The service of [`ConcurrencyLayer`].
///
/// Sits around the attempt's timeout, for the time in line is not the server's. Reads and writes nothing. Calls are let
/// through in the order in which they began to wait. Beyond the line, and after too long in it, they are refused with
/// 3001, marked as [`Unsent`](super::Unsent). Notifications, questions about health, what ends work or feeds it, and what
/// lasts as long as a subscription or a task are never held back and take no place. Allocates for calls that wait.
/// Dropping the future gives the place back.
#[derive(Debug, Clone)]
pub struct Concurrency<S> {
    inner: S,
    places: Arc<Places>,
}

impl<S: RpcService> Service<Request> for Concurrency<S> {
    type Response = Response;
    type Error = Error;
    type Future = ConcurrencyFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if is_vital(&request) || is_open_ended(&request) {
            return ConcurrencyFuture::running(self.inner.call(request), None);
        }
        // It gets none while somebody waits: what is given back goes to those in line first.
        if let Ok(place) = Arc::clone(&self.places.calls).try_acquire_owned() {
            return ConcurrencyFuture::running(self.inner.call(request), Some(place));
        }
        let Ok(in_line) = Arc::clone(&self.places.line).try_acquire_owned() else {
            return ConcurrencyFuture { state: State::Refused { places: Arc::clone(&self.places) } };
        };
        let clone = self.inner.clone();
        let service = mem::replace(&mut self.inner, clone);
        ConcurrencyFuture {
            state: State::Waiting { future: Box::pin(self.places.wait(in_line, service, request)) },
        }
    }
}

impl Places {
    fn wait<S: RpcService>(
        self: &Arc<Self>,
        in_line: OwnedSemaphorePermit,
        mut service: S,
        request: Request,
    ) -> impl Future<Output = Result<Response, Error>> + Send + use<S> {
        let places = Arc::clone(self);
        async move {
            let place = timeout(places.patience, Arc::clone(&places.calls).acquire_owned()).await;
            let Ok(Ok(_place)) = place else { return Err(places.exhausted()) };
            drop(places);
            drop(in_line);
            service.call(request).await
        }
    }

    /// There is room in a line that moves long before everybody is gone from it.
    fn exhausted(&self) -> Error {
        unsent(code::RESOURCE_EXHAUSTED, self.refusal.clone(), self.patience.min(COME_AGAIN))
    }
}

pin_project! {
    /// The future of [`Concurrency`].
    ///
    /// # Cancel safety
    /// Dropping it drops the call and gives its place back.
    #[must_use = "futures do nothing unless polled"]
    pub struct ConcurrencyFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F> {
        Running { #[pin] future: F, place: Option<OwnedSemaphorePermit> },
        Waiting { future: BoxFuture<'static, Result<Response, Error>> },
        Refused { places: Arc<Places> },
    }
}

impl<F> ConcurrencyFuture<F> {
    const fn running(future: F, place: Option<OwnedSemaphorePermit>) -> Self {
        Self { state: State::Running { future, place } }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for ConcurrencyFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Running { future, place } => {
                let answer = ready!(future.poll(cx));
                *place = None;
                Poll::Ready(answer)
            }
            StateProjection::Waiting { future } => future.as_mut().poll(cx),
            StateProjection::Refused { places } => Poll::Ready(Err(places.exhausted())),
        }
    }
}

impl<F> fmt::Debug for ConcurrencyFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConcurrencyFuture").finish_non_exhaustive()
    }
}

const USUAL_PATIENCE: Duration = Duration::from_secs(10);
const COME_AGAIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
