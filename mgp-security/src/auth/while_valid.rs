//! The future of a call that ends when its caller's key no longer holds.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use mgp_types::{Error, Response, RunningCalls, Validity, ValidityWatch};
use pin_project_lite::pin_project;

use super::AuthError;

pin_project! {
    /// A call that runs as long as the key of its caller holds. Dropping it drops the call.
    pub struct WhileValid<F> {
        #[pin]
        pub(super) call: Option<F>,
        pub(super) validity: Option<Validity>,
        // A subscription has no end of its own, so it is never allowed to finish.
        pub(super) listens: bool,
        // Wakes the call when the key no longer holds.
        pub(super) watch: Option<(Arc<AtomicWaker>, ValidityWatch)>,
        pub(super) finish: Option<FinishAnswer>,
    }
}

/// A change of the answer to a call.
pub(super) type FinishAnswer = Box<dyn FnOnce(Response) -> Result<Response, Error> + Send + Sync>;

impl<F: Future<Output = Result<Response, Error>>> Future for WhileValid<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let Some(call) = this.call.as_mut().as_pin_mut() else { return Poll::Pending };
        if let Poll::Ready(outcome) = call.poll(cx) {
            return Poll::Ready(match this.finish.take() {
                Some(finish) => outcome.and_then(finish),
                None => outcome,
            });
        }
        let Some(validity) = this.validity else { return Poll::Pending };
        // The key is watched only once the call waits; most calls are done at the first poll.
        let (waker, _) = this.watch.get_or_insert_with(|| {
            let waker = Arc::<AtomicWaker>::default();
            let woken = Arc::clone(&waker);
            (waker, validity.on_end(move |_| woken.wake()))
        });
        waker.register(cx.waker());
        match validity.ended() {
            Some(calls) if calls == RunningCalls::Cancel || *this.listens => {
                this.call.set(None);
                Poll::Ready(Err(AuthError::Unknown.into()))
            }
            _ => Poll::Pending,
        }
    }
}

mgp_types::partial_debug!([F] WhileValid<F>);
