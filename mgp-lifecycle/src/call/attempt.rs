use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mgp_types::mgp::CallWishes;
use mgp_types::{Error, Kind, Method, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_layer::Layer;
use tower_service::Service;

use self::life::Life;
use super::deadline::Deadline;
use crate::methods::is_open_ended;
use crate::refusal::timed_out;
use crate::span::{self, LONGEST};

mod life;

/// Ends an attempt at a call when the server has given no sign of life for too long.
///
/// Progress and chunks are such signs: each gives the attempt a fresh time, up to a maximum in all. The time in which the
/// server waits for answers to questions of its own does not count. Makes [`AttemptTimeout`] services.
#[derive(Clone)]
pub struct AttemptTimeoutLayer {
    timeout: Duration,
    max_timeout: Duration,
    reads_deadlines: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl AttemptTimeoutLayer {
    /// At most `timeout` without a sign of life, and `max_timeout` in all, which is no less.
    pub fn new(timeout: Duration, max_timeout: Duration) -> Self {
        let timeout = timeout.min(LONGEST);
        Self { timeout, max_timeout: max_timeout.clamp(timeout, LONGEST), reads_deadlines: None }
    }

    /// Tells the server how much of the call's [`Deadline`] is left, in `_mgp.deadline_ms`, while `speaks_mgp` says that
    /// it reads it. It is asked at each attempt: a server that comes back may be another.
    #[must_use]
    pub fn carry_when(mut self, speaks_mgp: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.reads_deadlines = Some(Arc::new(speaks_mgp));
        self
    }

    /// Writes how much time is left into the call of a tool.
    fn carry(&self, request: &mut Request) {
        let is_read = || self.reads_deadlines.as_ref().is_some_and(|speaks_mgp| speaks_mgp());
        if request.method == Method::TOOLS_CALL
            && is_read()
            && let Some(deadline) = Deadline::of(request)
        {
            let mut wishes = CallWishes::of(&request.params);
            wishes.deadline_ms = Some(span::millis(deadline.left()));
            wishes.write(&mut request.params);
        }
    }
}

impl<S> Layer<S> for AttemptTimeoutLayer {
    type Service = AttemptTimeout<S>;

    fn layer(&self, inner: S) -> AttemptTimeout<S> {
        AttemptTimeout { inner, settings: self.clone() }
    }
}

impl fmt::Debug for AttemptTimeoutLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptTimeoutLayer")
            .field("timeout", &self.timeout)
            .field("max_timeout", &self.max_timeout)
            .field("carries", &self.reads_deadlines.is_some())
            .finish()
    }
}

/// The service of [`AttemptTimeoutLayer`].
///
/// Sits within retries, as near to the server as it can. Wraps `context.outbox`, to see what comes about the call; where
/// it is closed, the call gets one that leads nowhere. While the server waits for an answer to a question of its own, it
/// is not taken for dead. An attempt that took too long is dropped, which takes it back at the server, and ends in 3003.
/// Passes notifications, and what lasts as long as a subscription or a task; for others it allocates the outbox.
#[derive(Debug, Clone)]
pub struct AttemptTimeout<S> {
    inner: S,
    settings: AttemptTimeoutLayer,
}

impl<S: RpcService> Service<Request> for AttemptTimeout<S> {
    type Response = Response;
    type Error = Error;
    type Future = AttemptFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        if request.kind == Kind::Notify || is_open_ended(&request) {
            return AttemptFuture { state: State::Unlimited { future: self.inner.call(request) } };
        }
        self.settings.carry(&mut request);
        let life = Life::watch(&mut request);
        let limit =
            Limit { timeout: self.settings.timeout, last_moment: life.began() + self.settings.max_timeout };
        let sleep = sleep_until(limit.end(&life, life.began()));
        AttemptFuture { state: State::Limited { future: self.inner.call(request), sleep, life, limit } }
    }
}

/// How long an attempt may take.
#[derive(Debug, Clone, Copy)]
struct Limit {
    timeout: Duration,
    last_moment: Instant,
}

/// How often it is looked, within one time limit, whether the server still waits for somebody else.
const LOOKS: u32 = 16;

impl Limit {
    /// When the attempt is over, unless there are further signs of life.
    fn end(self, life: &Life, now: Instant) -> Instant {
        let end = (life.last_sign(now) + self.timeout).min(self.last_moment + life.asked(now));
        if life.is_asking() { end.max(now + self.timeout / LOOKS) } else { end }
    }
}

pin_project! {
    /// The future of [`AttemptTimeout`].
    ///
    /// # Cancel safety
    /// Dropping it drops the attempt.
    #[must_use = "futures do nothing unless polled"]
    pub struct AttemptFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F> {
        Unlimited { #[pin] future: F },
        Limited { #[pin] future: F, #[pin] sleep: Sleep, life: Arc<Life>, limit: Limit },
        Over,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for AttemptFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        match state.as_mut().project() {
            StateProjection::Unlimited { future } => return future.poll(cx),
            StateProjection::Limited { future, mut sleep, life, limit } => {
                if let Poll::Ready(answer) = future.poll(cx) {
                    return Poll::Ready(answer);
                }
                // The timer is moved when it rings and not at each sign: there may be thousands of them.
                loop {
                    ready!(sleep.as_mut().poll(cx));
                    let now = Instant::now();
                    let end = limit.end(life, now);
                    if end <= now {
                        break;
                    }
                    sleep.as_mut().reset(end);
                }
                state.set(State::Over);
            }
            StateProjection::Over => {}
        }
        Poll::Ready(Err(timed_out("the server did not answer in time")))
    }
}

impl<F> fmt::Debug for AttemptFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptFuture").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
