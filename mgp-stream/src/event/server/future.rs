use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{Error, Response};
use pin_project_lite::pin_project;

use super::listen::Listening;

pin_project! {
    /// The future of [`ServeEvents`](super::ServeEvents): an answer of its own, or that of the service further in.
    /// Dropping it drops what it holds, and ends the sending of events to a request that listens.
    #[must_use = "futures do nothing unless polled"]
    pub struct ServeEventsFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Passed { #[pin] future: F },
        Listening { #[pin] future: F, _listening: Listening },
        Answered { answer: Option<Result<Response, Error>> },
    }
}

impl<F> ServeEventsFuture<F> {
    pub(super) const fn passed(future: F) -> Self {
        Self { state: State::Passed { future } }
    }

    pub(super) const fn listening(future: F, listening: Listening) -> Self {
        Self { state: State::Listening { future, _listening: listening } }
    }

    pub(super) const fn answered(answer: Result<Response, Error>) -> Self {
        Self { state: State::Answered { answer: Some(answer) } }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for ServeEventsFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Passed { future } | StateProj::Listening { future, .. } => future.poll(cx),
            StateProj::Answered { answer } => {
                Poll::Ready(answer.take().expect("a future is not polled again after it was ready"))
            }
        }
    }
}

impl<F> fmt::Debug for ServeEventsFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Passed { .. } => "passed",
            State::Listening { .. } => "listening",
            State::Answered { .. } => "answered",
        };
        write!(f, "ServeEventsFuture({state})")
    }
}
