use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_types::mgp::Category;
use mgp_types::{Error, Origin, Request, Response, code};
use pin_project_lite::pin_project;

use super::layer::Shared;
use super::{CallEnd, Pass};
use crate::call::Unsent;
use crate::call::deadline::Attached;

pin_project! {
    /// The future of [`BreakerService`](super::BreakerService).
    ///
    /// # Cancel safety
    /// Dropping it drops the call. It counts as failed if its deadline is past, and else not at all.
    #[must_use = "futures do nothing unless polled"]
    pub struct BreakerFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F> {
        Running { #[pin] future: F, open: Option<OpenCall> },
        Refused { error: Option<Error> },
    }
}

impl<F> BreakerFuture<F> {
    pub(super) const fn uncounted(future: F) -> Self {
        Self { state: State::Running { future, open: None } }
    }

    pub(super) const fn counted(future: F, open: OpenCall) -> Self {
        Self { state: State::Running { future, open: Some(open) } }
    }

    pub(super) const fn refused(error: Error) -> Self {
        Self { state: State::Refused { error: Some(error) } }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for BreakerFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Running { future, open } => {
                let answer = ready!(future.poll(cx));
                if let Some(open) = open.take() {
                    open.ended(answer.as_ref().err());
                }
                Poll::Ready(answer)
            }
            StateProjection::Refused { error } => Poll::Ready(Err(error
                .take()
                .unwrap_or_else(|| Error::internal("the answer was given already")))),
        }
    }
}

impl<F> fmt::Debug for BreakerFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BreakerFuture").finish_non_exhaustive()
    }
}

/// A call that was let through and has not ended. It is settled once, however it ends.
pub(super) struct OpenCall {
    shared: Arc<Shared>,
    pass: Option<Pass>,
    deadline: Option<Attached>,
}

impl OpenCall {
    pub(super) fn new(shared: Arc<Shared>, pass: Pass, request: &Request) -> Self {
        Self { shared, pass: Some(pass), deadline: Attached::to(request) }
    }

    fn ended(mut self, error: Option<&Error>) {
        self.settle(error.map_or(CallEnd::Answered, end_of));
    }

    fn settle(&mut self, end: CallEnd) {
        if let Some(pass) = self.pass.take() {
            self.shared.settle(pass, end);
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let is_late = self.deadline.as_ref().is_some_and(|attached| attached.deadline().left().is_zero());
        self.settle(if is_late { CallEnd::Failed } else { CallEnd::Unknown });
    }
}

/// What an error says of the server.
pub(super) fn end_of(error: &Error) -> CallEnd {
    if Unsent::is_cause_of(error) {
        return CallEnd::Unknown;
    }
    match error.origin() {
        Origin::Connection | Origin::Timeout | Origin::Misbehaved => return CallEnd::Failed,
        Origin::Cancelled => return CallEnd::Unknown,
        _ => {}
    }
    match (code::category(error.code()), error.origin()) {
        (Some(Category::Lifecycle | Category::External), _) => CallEnd::Failed,
        // Whoever decides here has not asked the server.
        (_, Origin::Local) => CallEnd::Unknown,
        _ => CallEnd::Answered,
    }
}
