//! The future of the [`StreamService`](super::StreamService) service.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{BoxFuture, Error, Response};
use pin_project_lite::pin_project;

use super::quiet_call::QuietWork;
use super::registry::StreamingWork;

pin_project! {
    /// The future of [`StreamService`](super::StreamService): the future of the inner service, watched or not, or an answer of the
    /// layer's own.
    ///
    /// Dropping the future drops the handler; the content streamed so far is lost with it.
    #[must_use = "futures do nothing unless polled"]
    pub struct StreamFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Passed { #[pin] future: F },
        Watched { #[pin] future: F, work: StreamingWork },
        Quiet { #[pin] future: F, work: QuietWork },
        Answered { answer: Option<Result<Response, Error>> },
        Waiting { future: BoxFuture<'static, Result<Response, Error>> },
    }
}

impl<F> StreamFuture<F> {
    pub(super) const fn passed(future: F) -> Self {
        Self { state: State::Passed { future } }
    }

    pub(super) const fn watched(future: F, work: StreamingWork) -> Self {
        Self { state: State::Watched { future, work } }
    }

    pub(super) const fn quiet(future: F, work: QuietWork) -> Self {
        Self { state: State::Quiet { future, work } }
    }

    pub(super) const fn answered(answer: Result<Response, Error>) -> Self {
        Self { state: State::Answered { answer: Some(answer) } }
    }

    pub(super) fn waiting(future: impl Future<Output = Result<Response, Error>> + Send + 'static) -> Self {
        Self { state: State::Waiting { future: Box::pin(future) } }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for StreamFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        let answer = match state.as_mut().project() {
            StateProj::Passed { future } => return future.poll(cx),
            StateProj::Waiting { future } => return future.as_mut().poll(cx),
            StateProj::Answered { answer } => {
                return Poll::Ready(answer.take().expect("a future is not polled again after it was ready"));
            }
            StateProj::Watched { future, work } => match work.ended(cx) {
                Some(answer) => answer,
                None => match future.poll(cx) {
                    Poll::Ready(outcome) => work.finish(outcome),
                    Poll::Pending => {
                        work.enter();
                        return Poll::Pending;
                    }
                },
            },
            StateProj::Quiet { future, work } => match work.stopped(cx) {
                Some(answer) => Ok(answer),
                None => match future.poll(cx) {
                    Poll::Ready(outcome) => work.finish(outcome),
                    Poll::Pending => {
                        work.enter(cx);
                        return Poll::Pending;
                    }
                },
            },
        };
        // The handler is dropped at once, and not only when the connection drops this future.
        state.set(State::Answered { answer: None });
        Poll::Ready(answer)
    }
}

mgp_types::partial_debug!([F] StreamFuture<F>);
