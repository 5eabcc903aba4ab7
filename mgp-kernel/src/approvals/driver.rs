//! The task of a parked call.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use mgp_types::{Error, Response};
use tokio::time::{Instant, Sleep};

use super::conversation::{CallConversation, ParkedStatus};
use super::table::ParkedCallShared;

/// A call that may ask its client. Dropping it ends its questions.
pub(super) struct AskableCall<F> {
    future: Pin<Box<F>>,
    conversation: Arc<CallConversation>,
}

impl<F: Future<Output = Result<Response, Error>>> AskableCall<F> {
    pub(super) fn new(future: Pin<Box<F>>, conversation: Arc<CallConversation>) -> Self {
        Self { future, conversation }
    }

    pub(super) fn conversation(&self) -> &Arc<CallConversation> {
        &self.conversation
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response, Error>> {
        self.future.as_mut().poll(cx)
    }
}

impl<F> Drop for AskableCall<F> {
    fn drop(&mut self) {
        self.conversation.end();
    }
}

/// The future of a parked call's task: it drives the call, and ends it when the client does not come back in time. A
/// call that has ended waits here until its outcome is taken.
pub(super) struct ParkedCallDriver<F> {
    call: AskableCall<F>,
    is_running: bool,
    number: u64,
    parked_calls: Weak<ParkedCallShared>,
    sleep: Pin<Box<Sleep>>,
}

impl<F: Future<Output = Result<Response, Error>>> ParkedCallDriver<F> {
    pub(super) fn new(call: AskableCall<F>, number: u64, parked_calls: Weak<ParkedCallShared>) -> Self {
        Self {
            call,
            is_running: true,
            number,
            parked_calls,
            sleep: Box::pin(tokio::time::sleep_until(Instant::now())),
        }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for ParkedCallDriver<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let conversation = Arc::clone(&this.call.conversation);
        conversation.driven_by(cx.waker(), this.is_running);
        if this.is_running {
            match this.call.poll(cx) {
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
