//! The task of a parked call.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use mgp_types::{Error, Response};
use tokio::time::Sleep;

use super::conversation::{CallConversation, ParkedStatus};
use super::table::ParkedCallShared;

/// A call that may ask its client. Dropping it ends its questions.
pub(super) struct AskableCall<F> {
    pub(super) future: Pin<Box<F>>,
    pub(super) conversation: Arc<CallConversation>,
}

impl<F> Drop for AskableCall<F> {
    fn drop(&mut self) {
        self.conversation.end();
    }
}

/// The future of a parked call's task: it drives the call, and ends it when the client does not come back in time. A
/// call that has ended waits here until its outcome is taken.
pub(super) struct ParkedCallDriver<F> {
    pub(super) call: AskableCall<F>,
    pub(super) is_running: bool,
    pub(super) number: u64,
    pub(super) parked_calls: Weak<ParkedCallShared>,
    pub(super) sleep: Pin<Box<Sleep>>,
}

impl<F: Future<Output = Result<Response, Error>>> Future for ParkedCallDriver<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let conversation = Arc::clone(&this.call.conversation);
        conversation.driven_by(cx.waker(), this.is_running);
        if this.is_running {
            match this.call.future.as_mut().poll(cx) {
                Poll::Ready(outcome) => {
                    this.is_running = false;
                    conversation.finish(outcome);
                }
                Poll::Pending => conversation.waits(),
            }
        }
        loop {
            match conversation.standing() {
                ParkedStatus::Over => return Poll::Ready(()),
                ParkedStatus::Awaited => return Poll::Pending,
                ParkedStatus::Parked(until) => {
                    if this.sleep.deadline() != until {
                        this.sleep.as_mut().reset(until);
                    }
                    if this.sleep.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    conversation.expire(until);
                }
            }
        }
    }
}

impl<F> Drop for ParkedCallDriver<F> {
    fn drop(&mut self) {
        if let Some(parked_calls) = self.parked_calls.upgrade() {
            parked_calls.table.end(self.number);
        }
    }
}
