use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mgp_types::mgp::CallWishes;
use mgp_types::{Error, Kind, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_layer::Layer;
use tower_service::Service;

use crate::methods::is_open_ended;
use crate::refusal::timed_out;
use crate::span::LONGEST;

/// When nobody waits for a call any more: an extension of its request.
///
/// Whoever makes a call may attach one. [`DeadlineLayer`] enforces it and attaches what holds in the end; layers further
/// in read it, so that no retry begins that could not end in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// The deadline at this moment.
    pub const fn at(moment: Instant) -> Self {
        Self(moment)
    }

    /// The deadline that is attached to a request.
    pub fn of(request: &Request) -> Option<Self> {
        request.extensions.get().copied()
    }

    /// How long it is until then; nothing if it is past.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// Gives each call so much time in all, with its retries and their pauses.
///
/// Less if the request says so, by a [`Deadline`] or by `_mgp.deadline_ms` in its parameters; never more. Makes
/// [`DeadlineService`] services. What lasts as long as a subscription or a task has only the deadline that the request
/// itself says.
#[derive(Debug, Clone, Copy)]
pub struct DeadlineLayer {
    budget: Duration,
}

impl DeadlineLayer {
    /// At most `budget` for each call.
    pub const fn new(budget: Duration) -> Self {
        let is_sane = budget.as_secs() < LONGEST.as_secs();
        Self { budget: if is_sane { budget } else { LONGEST } }
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = DeadlineService<S>;

    fn layer(&self, inner: S) -> DeadlineService<S> {
        DeadlineService { inner, budget: self.budget }
    }
}

/// The service of [`DeadlineLayer`].
///
/// Sits around retries, and within whatever waits for people. Reads and writes the [`Deadline`] among the request's
/// extensions, which is its one allocation, and takes `deadline_ms` out of `_mgp`: what is left is written again by
/// whoever knows that the server reads it, see [`AttemptTimeoutLayer`](super::AttemptTimeoutLayer). A call whose time is
/// over is dropped, which takes it back at the server, and ends in 3003. Passes notifications. Holds a timer only for
/// calls that are not answered at once.
#[derive(Debug, Clone)]
pub struct DeadlineService<S> {
    inner: S,
    budget: Duration,
}

impl<S: RpcService> Service<Request> for DeadlineService<S> {
    type Response = Response;
    type Error = Error;
    type Future = DeadlineFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        if request.kind == Kind::Notify {
            return DeadlineFuture { state: State::Unlimited { future: self.inner.call(request) } };
        }
        let now = Instant::now();
        let budget = if is_open_ended(&request) { None } else { Some(self.budget) };
        let wished = take_wish(&mut request).map(|wished| wished.min(LONGEST));
        let attached = Deadline::of(&request);
        let times = budget.into_iter().chain(wished).map(|time| Deadline(now + time));
        let Some(deadline) = times.chain(attached).min() else {
            return DeadlineFuture { state: State::Unlimited { future: self.inner.call(request) } };
        };
        if deadline.0 <= now {
            return DeadlineFuture { state: State::Over };
        }
        if attached != Some(deadline) {
            request.extensions.insert(deadline);
        }
        DeadlineFuture {
            state: State::Limited { future: self.inner.call(request), sleep: sleep_until(deadline.0) },
        }
    }
}

pin_project! {
    /// The future of [`DeadlineService`].
    ///
    /// # Cancel safety
    /// Dropping it drops the call.
    #[must_use = "futures do nothing unless polled"]
    pub struct DeadlineFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F> {
        Unlimited { #[pin] future: F },
        Limited { #[pin] future: F, #[pin] sleep: Sleep },
        Over,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for DeadlineFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        match state.as_mut().project() {
            StateProjection::Unlimited { future } => return future.poll(cx),
            StateProjection::Limited { future, sleep } => {
                // An answer that came in the last moment counts.
                if let Poll::Ready(answer) = future.poll(cx) {
                    return Poll::Ready(answer);
                }
                ready!(sleep.poll(cx));
                state.set(State::Over);
            }
            StateProjection::Over => {}
        }
        Poll::Ready(Err(timed_out("the time for the call is over")))
    }
}

impl<F> fmt::Debug for DeadlineFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadlineFuture").finish_non_exhaustive()
    }
}

/// What the parameters say of the time that is left, which they then say no more.
fn take_wish(request: &mut Request) -> Option<Duration> {
    if !request.params.contains("_mgp") {
        return None;
    }
    let mut wishes = CallWishes::of(&request.params);
    let millis = wishes.deadline_ms.take()?;
    wishes.write(&mut request.params);
    Some(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests;
