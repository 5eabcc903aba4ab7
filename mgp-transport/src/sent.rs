use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mgp_types::Error;

/// The future of a message that found its place at once. It has no size, so that boxing it is free.
pub(crate) struct Sent;

impl Future for Sent {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}
