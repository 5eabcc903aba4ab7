//! The future of an audited call, which records the call before it returns the answer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_types::{BoxFuture, Error, Response};
use pin_project_lite::pin_project;

use super::call::RecordedCall;

pin_project! {
    /// The future of [`Audit`](super::Audit).
    ///
    /// # Cancel safety
    /// Dropping it records the call as cancelled.
    #[must_use]
    pub struct AuditFuture<F> {
        #[pin]
        stage: RecordingStage<F>,
        open: OpenCall,
    }
}

pin_project! {
    #[project = StageProjection]
    enum RecordingStage<F> {
        Refused { error: Option<Error> },
        Running { #[pin] inner: F },
        Recording { record: BoxFuture<'static, Result<(), Error>>, answer: Option<Result<Response, Error>> },
    }
}

impl<F> AuditFuture<F> {
    pub(super) const fn refused(error: Error) -> Self {
        Self { stage: RecordingStage::Refused { error: Some(error) }, open: OpenCall(None) }
    }

    pub(super) const fn running(inner: F, open: OpenCall) -> Self {
        Self { stage: RecordingStage::Running { inner }, open }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for AuditFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.stage.as_mut().project() {
                StageProjection::Refused { error } => {
                    return Poll::Ready(Err(error.take().unwrap_or_else(polled_again)));
                }
                StageProjection::Running { inner } => {
                    let answer = ready!(inner.poll(cx));
                    let Some(call) = this.open.0.take() else { return Poll::Ready(answer) };
                    let events = call.events(&answer);
                    if events.is_empty() {
                        return Poll::Ready(answer);
                    }
                    let Err(events) = call.port().try_record(events) else { return Poll::Ready(answer) };
                    let port = Arc::clone(call.port());
                    let record = Box::pin(async move { port.record_all(events).await });
                    this.stage.set(RecordingStage::Recording { record, answer: Some(answer) });
                }
                StageProjection::Recording { record, answer } => {
                    let recorded = ready!(record.as_mut().poll(cx));
                    let answer = answer.take().unwrap_or_else(|| Err(polled_again()));
                    return Poll::Ready(match recorded {
                        Ok(()) => answer,
                        Err(error) => Err(withhold(error)),
                    });
                }
            }
        }
    }
}

impl<F> std::fmt::Debug for AuditFuture<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditFuture").field("open", &self.open.0.is_some()).finish_non_exhaustive()
    }
}

/// A call that has begun and is not recorded yet. Dropping it records the call as cancelled.
pub(super) struct OpenCall(Option<RecordedCall>);

impl OpenCall {
    pub(super) const fn new(call: RecordedCall) -> Self {
        Self(Some(call))
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            let events = call.cancelled();
            if !events.is_empty() {
                call.port().record_now(events);
            }
        }
    }
}

/// Returns the error that replaces the answer of a call whose record failed. It says that the call is over, so that
/// the caller does not believe that nothing happened; the answer is withheld because nobody could prove that it was
/// given.
fn withhold(error: Error) -> Error {
    tracing::error!(code = error.code(), "an answer is withheld because the call could not be recorded");
    Error::new(error.code(), "the call is over, but its record cannot be kept, so its answer is withheld")
        .with_source(error)
}

fn polled_again() -> Error {
    Error::internal("the answer was given already")
}
