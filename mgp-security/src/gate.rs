use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{Error, Response};
use pin_project_lite::pin_project;

pin_project! {
    /// The future of a layer that decides at once: that of the service further in, or a refusal.
    #[must_use = "futures do nothing unless polled"]
    pub struct GateFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Passed { #[pin] future: F },
        Refused { error: Option<Error> },
    }
}

impl<F> GateFuture<F> {
    pub(crate) fn passed(future: F) -> Self {
        Self { state: State::Passed { future } }
    }

    pub(crate) fn refused(error: Error) -> Self {
        Self { state: State::Refused { error: Some(error) } }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for GateFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Passed { future } => future.poll(cx),
            StateProj::Refused { error } => {
                Poll::Ready(Err(error.take().expect("a future is not polled after it was done")))
            }
        }
    }
}

impl<F> fmt::Debug for GateFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateFuture").finish_non_exhaustive()
    }
}
