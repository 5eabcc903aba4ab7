//! The future of a message that need not wait.

use std::future::poll_fn;
use std::task::{Poll, ready};

use mgp_types::{BoxFuture, Error};
use tokio::task::coop;

/// Returns the future of a message that found its place at once. The future has no size, so that boxing it is free.
///
/// A sender of many such messages never waits, so the future yields to other tasks now and then.
pub(crate) fn sent() -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(poll_fn(|cx| {
        ready!(coop::poll_proceed(cx)).made_progress();
        Poll::Ready(Ok(()))
    }))
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
            sent().await.unwrap();
        }
    }
}
