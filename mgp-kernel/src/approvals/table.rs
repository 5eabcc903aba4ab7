//! The table of parked calls with their tasks, and the state that the services of one layer share.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use mgp_security::audit::AuditLayer;
use mgp_types::{Error, InputQuestion, Response};
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::{Instant, Sleep, sleep_until};

use super::conversation::{CallConversation, ParkedStatus, RoundQuestions};
use super::quota::Quota;
use super::ticket::{Ticket, Tickets};

/// The quota, tickets and parked calls that the services of one layer share. All parked calls end with the last of
/// these services.
pub(crate) struct ParkedCallShared {
    pub(super) quota: Arc<Quota>,
    pub(super) tickets: Tickets,
    pub(super) table: ParkedCallTable,
    /// The layer that records the outcome of calls whose clients did not come back.
    pub(super) audit: Option<AuditLayer>,
}

impl ParkedCallShared {
    /// Returns the result that asks the client, who can come back with `ticket`.
    pub(super) fn ask(&self, ticket: Ticket, asked: &RoundQuestions) -> Result<Response, Error> {
        let state = self.tickets.seal(ticket, self.quota.limits.ttl);
        // A question that cannot be written will never be answered.
        InputQuestion::result(&asked.questions, &state).inspect_err(|_| self.table.end(ticket.call))
    }
}

/// The table of parked calls. It owns their tasks: a call that is taken out, or dropped with the table, ends.
#[derive(Default)]
pub(super) struct ParkedCallTable(Mutex<ParkedCalls>);

#[derive(Default)]
struct ParkedCalls {
    calls: HashMap<u64, ParkedCall>,
    /// The number of calls that were ever parked.
    count: u64,
}

struct ParkedCall {
    conversation: Arc<CallConversation>,
    task: AbortHandle,
}

impl Drop for ParkedCall {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ParkedCallTable {
    pub(super) fn get(&self, call: u64) -> Option<Arc<CallConversation>> {
        self.0.lock().calls.get(&call).map(|entry| Arc::clone(&entry.conversation))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().calls.len()
    }

    /// Ends a call.
    pub(super) fn end(&self, call: u64) {
        let ended = self.0.lock().calls.remove(&call);
        // Dropped without the lock: a call that ends looks for itself here.
        drop(ended);
    }

    /// Ends the calls whose clients are away.
    pub(super) fn end_unattended(&self) {
        let is_unattended =
            |entry: &mut ParkedCall| !matches!(entry.conversation.standing(), ParkedStatus::Awaited);
        let ended: Vec<_> =
            self.0.lock().calls.extract_if(|_, entry| is_unattended(entry)).map(|(_, entry)| entry).collect();
        // Dropped without the lock: a call that ends looks for itself here.
        drop(ended);
    }
}

/// Keeps a call that has asked, and drives it. Returns its number.
pub(super) fn park<F>(parked_calls: &Arc<ParkedCallShared>, call: AskableCall<F>) -> u64
where
    F: Future<Output = Result<Response, Error>> + Send + 'static,
{
    let conversation = Arc::clone(&call.conversation);
    let mut parked = parked_calls.table.0.lock();
    parked.count += 1;
    let number = parked.count;
    // The call is entered under the lock, so that the task's end always comes later.
    let (parked_calls, sleep) = (Arc::downgrade(parked_calls), Box::pin(sleep_until(Instant::now())));
    let task = tokio::spawn(ParkedCallDriver { call, is_running: true, number, parked_calls, sleep });
    parked.calls.insert(number, ParkedCall { conversation, task: task.abort_handle() });
    number
}

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
struct ParkedCallDriver<F> {
    call: AskableCall<F>,
    is_running: bool,
    number: u64,
    parked_calls: Weak<ParkedCallShared>,
    sleep: Pin<Box<Sleep>>,
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
