//! The future of a message that need not wait.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mgp_types::Error;
use tokio::task::coop;

/// The future of a message that found its place at once. The future has no size, so that boxing it is free.
///
/// A sender of many such messages never waits, so the future yields to other tasks now and then.
pub(crate) struct SentFuture;

impl Future for SentFuture {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn whoever_sends_on_and_on_lets_others_run() {
        static OTHER: AtomicBool = AtomicBool::new(false);
        tokio::spawn(async { OTHER.store(true, Ordering::SeqCst) });
        while !OTHER.load(Ordering::SeqCst) {
            SentFuture.await.unwrap();
        }
    }
}
