use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::Error;
use tokio::task::coop;

/// What is done already. It has no size, so its box costs nothing.
pub(super) struct Done;

impl Future for Done {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}

/// What has been sent already. Whoever sends in a loop gives way to other tasks here now and then.
pub(super) struct Sent;

impl Future for Sent {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(()))
    }
}
