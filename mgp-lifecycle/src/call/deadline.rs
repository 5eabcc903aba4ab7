use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mgp_types::mgp::CallWishes;
use mgp_types::{Error, Kind, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_layer::Layer;
use tower_service::Service;

use super::asked::Asked;
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

    /// The deadline that is attached to a request, as far as can be said now.
    pub fn of(request: &Request) -> Option<Self> {
        let running = request.extensions.get::<Running>().map(Running::deadline);
        running.or_else(|| request.extensions.get().copied())
    }

    /// How long it is until then; nothing if it is past.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// What a request says of its deadline, for whoever asks for it later, if at all.
#[derive(Debug, Clone)]
pub(super) enum Attached {
    /// It may move.
    Running(Arc<Running>),
    /// It stays where it is.
    Fixed(Deadline),
}

impl Attached {
    /// What is attached to a request.
    pub(super) fn to(request: &Request) -> Option<Self> {
        let running = request.extensions.get_shared().map(Self::Running);
        running.or_else(|| request.extensions.get().copied().map(Self::Fixed))
    }

    /// The deadline, as far as can be said now.
    pub(super) fn deadline(&self) -> Deadline {
        match self {
            Self::Running(running) => running.deadline(),
            Self::Fixed(deadline) => *deadline,
        }
    }
}

/// The time of one call: an extension of its request, like a [`Deadline`], and in its place.
#[derive(Debug)]
pub(super) struct Running {
    /// When the call ends if nobody is asked anything.
    budget_end: Instant,
    /// When it ends whoever is asked: nobody waits for it any more.
    last_moment: Option<Instant>,
    /// How long its server waited for others.
    pub(super) asked: Asked,
}

impl Running {
    /// The deadline, as far as can be said now.
    fn deadline(&self) -> Deadline {
        Deadline(self.end(Instant::now()))
    }

    fn end(&self, now: Instant) -> Instant {
        let end = self.budget_end + self.asked.total(now);
        self.last_moment.map_or(end, |last| last.min(end))
    }

    /// When to look again whether the time is over.
    fn next_look(&self, now: Instant) -> Instant {
        let end = self.end(now);
        let is_extended = self.asked.is_open() && self.last_moment != Some(end);
        if is_extended { end.max(now + BETWEEN_LOOKS) } else { end }
    }
}

/// Gives each call so much time in all, with its retries and their pauses.
///
/// The time in which a server waits for answers to its own questions is not counted, as far as an
/// [`AttemptTimeoutLayer`](super::AttemptTimeoutLayer) sees them.
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
        let said = wished.map(|time| Deadline(now + time)).into_iter().chain(attached).min();
        let ours = budget.map(|time| now + time).filter(|end| said.is_none_or(|said| *end < said.0));
        let (end, running) = match (ours, said) {
            (Some(budget_end), _) => {
                let last_moment = said.map(|said| said.0);
                let running = Arc::new(Running { budget_end, last_moment, asked: Asked::default() });
                request.extensions.insert_shared(Arc::clone(&running));
                (budget_end, Some(running))
            }
            (None, Some(said)) => {
                if attached != Some(said) {
                    request.extensions.insert(said);
                }
                (said.0, None)
            }
            (None, None) => {
                return DeadlineFuture { state: State::Unlimited { future: self.inner.call(request) } };
            }
        };
        if end <= now {
            return DeadlineFuture { state: State::Over };
        }
        DeadlineFuture {
            state: State::Limited { future: self.inner.call(request), sleep: sleep_until(end), running },
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
        Limited { #[pin] future: F, #[pin] sleep: Sleep, running: Option<Arc<Running>> },
        Over,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for DeadlineFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        match state.as_mut().project() {
            StateProjection::Unlimited { future } => return future.poll(cx),
            StateProjection::Limited { future, mut sleep, running } => {
                // An answer that came in the last moment counts.
                if let Poll::Ready(answer) = future.poll(cx) {
                    return Poll::Ready(answer);
                }
                loop {
                    ready!(sleep.as_mut().poll(cx));
                    let now = Instant::now();
                    match running.as_ref().map(|running| running.next_look(now)) {
                        Some(next) if next > now => sleep.as_mut().reset(next),
                        _ => break,
                    }
                }
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

/// How long a call may go on after its time because people were asked until a moment ago.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
