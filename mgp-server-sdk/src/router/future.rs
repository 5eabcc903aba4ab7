//! The future of the router, which keeps handlers out of the connection's first poll.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::{Error, Response, Revision};

use crate::method::MethodFuture;
use crate::tool::ToolFuture;

/// The future of [`Router`](super::Router).
///
/// A connection polls each call once before it gives the call a task of its own. Work that takes time must not happen
/// in that first poll, or it would stop the connection: for a handler, the first poll does nothing and the second one
/// starts it.
#[must_use = "futures do nothing unless polled"]
pub struct RouterFuture(RouterState);

enum RouterState {
    Ready(Option<Result<Response, Error>>),
    Tool { future: ToolFuture, revision: Revision, looked: bool },
    Boxed { future: MethodFuture, looked: bool },
}

impl RouterFuture {
    /// Creates the future of a tool's call, which starts in the first poll if it is `inline`.
    pub(super) fn tool(future: ToolFuture, revision: Revision, inline: bool) -> Self {
        Self(RouterState::Tool { future, revision, looked: inline })
    }

    /// Creates the future of a handler.
    pub(super) fn handed(future: MethodFuture) -> Self {
        Self(RouterState::Boxed { future, looked: false })
    }

    /// Creates the future of work that waits more than it computes.
    pub(super) fn boxed(future: MethodFuture) -> Self {
        Self(RouterState::Boxed { future, looked: true })
    }
}

impl From<Result<Response, Error>> for RouterFuture {
    fn from(outcome: Result<Response, Error>) -> Self {
        Self(RouterState::Ready(Some(outcome)))
    }
}

impl Future for RouterFuture {
    type Output = Result<Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            RouterState::Ready(outcome) => {
                Poll::Ready(outcome.take().expect("a future is not polled again after it was ready"))
            }
            RouterState::Tool { looked: looked @ false, .. }
            | RouterState::Boxed { looked: looked @ false, .. } => {
                *looked = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            RouterState::Tool { future, revision, .. } => {
                let revision = *revision;
                future.as_mut().poll(cx).map(|result| result?.into_response(revision))
            }
            RouterState::Boxed { future, .. } => future.as_mut().poll(cx),
        }
    }
}

mgp_types::partial_debug!(RouterFuture);
