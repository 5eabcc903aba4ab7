//! The future of a call that ends when its caller's key no longer holds.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mgp_types::{Error, Response, RunningCalls, Validity, ValidityWatch};
use parking_lot::Mutex;
use pin_project_lite::pin_project;

use super::AuthError;

pin_project! {
    /// A call that runs as long as the key of its caller holds. Dropping it drops the call.
    pub struct WhileValid<F> {
        #[pin]
        call: Option<F>,
        validity: Option<Validity>,
        // A subscription has no end of its own, so it is never allowed to finish.
        listens: bool,
        watch: Option<ValidityWaker>,
        finish: Option<FinishAnswer>,
    }
}

/// A change of the answer to a call.
pub(super) type FinishAnswer = Box<dyn FnOnce(Response) -> Result<Response, Error> + Send + Sync>;

/// A waker that wakes the call when the key no longer holds.
struct ValidityWaker {
    waker: Arc<Mutex<Waker>>,
    _told: ValidityWatch,
}

impl<F> WhileValid<F> {
    pub(super) fn new(
        call: F,
        validity: Option<Validity>,
        listens: bool,
        finish: Option<FinishAnswer>,
    ) -> Self {
        Self { call: Some(call), validity, listens, watch: None, finish }
    }
}

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
        if let Some(watch) = this.watch {
            watch.waker.lock().clone_from(cx.waker());
        } else {
            let waker = Arc::new(Mutex::new(cx.waker().clone()));
            let shared_waker = Arc::clone(&waker);
            let watch = validity.on_end(move |_| {
                let waker = shared_waker.lock().clone();
                waker.wake();
            });
            *this.watch = Some(ValidityWaker { waker, _told: watch });
        }
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
