use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::{BoxFuture, Error, Response};
use pin_project_lite::pin_project;

use super::call::Use;
use super::listen::Listening;

pin_project! {
    /// The future of [`ToolDiscovery`](super::ToolDiscovery).
    ///
    /// Dropping it drops the call further in, which then counts as no use of its tool.
    #[must_use = "futures do nothing unless polled"]
    pub struct ToolDiscoveryFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Passed { #[pin] future: F, tool: Option<Use>, listening: Option<Listening> },
        Answered { outcome: Option<Result<Response, Error>> },
        Answering { future: BoxFuture<'static, Result<Response, Error>> },
    }
}

impl<F> ToolDiscoveryFuture<F> {
    /// The service further in answers.
    pub(super) const fn passed(future: F) -> Self {
        Self { state: State::Passed { future, tool: None, listening: None } }
    }

    /// The service further in answers the call of a tool.
    pub(super) const fn called(future: F, tool: Option<Use>) -> Self {
        Self { state: State::Passed { future, tool, listening: None } }
    }

    /// The service further in answers a request that listens for changes.
    pub(super) const fn listening(future: F, listening: Listening) -> Self {
        Self { state: State::Passed { future, tool: None, listening: Some(listening) } }
    }

    /// The layer answers at once.
    pub(super) const fn answered(outcome: Result<Response, Error>) -> Self {
        Self { state: State::Answered { outcome: Some(outcome) } }
    }

    /// The layer answers when it has found out.
    pub(super) fn answering(future: impl Future<Output = Result<Response, Error>> + Send + 'static) -> Self {
        Self { state: State::Answering { future: Box::pin(future) } }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for ToolDiscoveryFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Passed { future, tool, listening } => {
                let outcome = ready!(future.poll(cx));
                *listening = None;
                if let (Some(tool), Ok(response)) = (tool.take(), &outcome) {
                    tool.answered(response);
                }
                Poll::Ready(outcome)
            }
            StateProj::Answered { outcome } => {
                Poll::Ready(outcome.take().expect("a future is not polled again after it was ready"))
            }
            StateProj::Answering { future } => future.as_mut().poll(cx),
        }
    }
}

impl<F> fmt::Debug for ToolDiscoveryFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Passed { .. } => "passed",
            State::Answered { .. } => "answered",
            State::Answering { .. } => "answering",
        };
        f.debug_struct("ToolDiscoveryFuture").field("state", &state).finish_non_exhaustive()
    }
}
