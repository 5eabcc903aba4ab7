//! The parts of waiting: the waker of one task, and the future of a message that need not wait.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use mgp_types::Error;
use tokio::task::coop;

/// The waker of the task that waits for a change. Only the last task that came is woken.
#[derive(Debug, Default)]
pub(crate) struct WakerSlot(Option<Waker>);

impl WakerSlot {
    pub(crate) fn register(&mut self, cx: &Context<'_>) {
        match &mut self.0 {
            Some(waker) => waker.clone_from(cx.waker()),
            empty => *empty = Some(cx.waker().clone()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    pub(crate) fn wake(&mut self) {
        if let Some(waker) = self.0.take() {
            waker.wake();
        }
    }
}

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
