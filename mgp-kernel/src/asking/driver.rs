use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use mgp_types::{Error, Response};
use tokio::time::{Instant, Sleep};

use super::conversation::{Conversation, Standing};
use super::table::Desk;

/// A call that may ask. Dropping it ends its questions.
pub(super) struct Call<F> {
    future: Pin<Box<F>>,
    conversation: Arc<Conversation>,
}

impl<F: Future<Output = Result<Response, Error>>> Call<F> {
    pub(super) fn new(future: Pin<Box<F>>, conversation: Arc<Conversation>) -> Self {
        Self { future, conversation }
    }

    pub(super) fn conversation(&self) -> &Arc<Conversation> {
        &self.conversation
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response, Error>> {
        self.future.as_mut().poll(cx)
    }
}

impl<F> Drop for Call<F> {
    fn drop(&mut self) {
        self.conversation.end();
    }
}

/// The task of a parked call: goes on with it, and ends it when the client does not come back in time. A call that has
/// ended waits here until its outcome is taken.
pub(super) struct Driver<F> {
    call: Call<F>,
    is_running: bool,
    number: u64,
    desk: Weak<Desk>,
    sleep: Pin<Box<Sleep>>,
}

impl<F: Future<Output = Result<Response, Error>>> Driver<F> {
    pub(super) fn new(call: Call<F>, number: u64, desk: Weak<Desk>) -> Self {
        Self {
            call,
            is_running: true,
            number,
            desk,
            sleep: Box::pin(tokio::time::sleep_until(Instant::now())),
        }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for Driver<F> {
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
                Standing::Over => return Poll::Ready(()),
                Standing::Awaited => return Poll::Pending,
                Standing::Parked(until) => {
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

impl<F> Drop for Driver<F> {
    fn drop(&mut self) {
        if let Some(desk) = self.desk.upgrade() {
            desk.table.end(self.number);
        }
    }
}
