//! The futures of the service that parks calls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::CallRecord;
use mgp_types::{Error, Request, Response};
use pin_project_lite::pin_project;

use super::conversation::CallConversation;
use super::driver::AskableCall;
use super::table::{ParkedCallShared, park};
use super::ticket::{Ticket, binding};
use super::unattended::{UnattendedCall, follow};

pin_project! {
    /// The future of [`ParkedCallService`](super::ParkedCallService).
    #[project = Projected]
    pub(crate) enum ParkedCallFuture<F> {
        /// The call cannot ask.
        Passed { #[pin] future: F },
        /// No call waits for the answers of the request.
        Refused { error: Option<Error> },
        /// The first round of a call.
        Started { started: FirstRound<F> },
        /// A later round of a call.
        Resumed { resumed: ResumedRound },
    }
}

impl<F> Future for ParkedCallFuture<F>
where
    F: Future<Output = Result<Response, Error>> + Send + 'static,
{
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projected::Passed { future } => future.poll(cx),
            Projected::Refused { error } => {
                Poll::Ready(Err(error.take().expect("a future is not polled again after it was ready")))
            }
            Projected::Started { started } => started.poll(cx),
            Projected::Resumed { resumed } => resumed.poll(cx),
        }
    }
}

/// A call that has not asked yet, driven by its client's first round.
pub(crate) struct FirstRound<F> {
    pub(super) call: Option<AskableCall<F>>,
    /// The request of the client, without the way back.
    pub(super) subject: Request,
    pub(super) parked_calls: Arc<ParkedCallShared>,
}

impl<F: Future<Output = Result<Response, Error>> + Send + 'static> FirstRound<F> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response, Error>> {
        let Some(call) = &mut self.call else { return Poll::Pending };
        let conversation = Arc::clone(&call.conversation);
        conversation.awaited_by(cx.waker());
        if let Poll::Ready(outcome) = call.future.as_mut().poll(cx) {
            self.call = None;
            return Poll::Ready(outcome);
        }
        let Some(asked) = conversation.park(self.parked_calls.limits.ttl) else { return Poll::Pending };
        let Some(call) = self.call.take() else { return Poll::Pending };
        if let Some(audit) = &self.parked_calls.audit {
            conversation.record_with(UnattendedCall { audit: audit.clone(), request: self.subject.clone() });
        }
        let (call, binding) = (park(&self.parked_calls, call), binding(&self.subject));
        Poll::Ready(self.parked_calls.ask(Ticket { call, round: asked.round, binding }, &asked))
    }
}

/// A round that continues a parked call. Dropping it before it is answered ends the call: the client took it back.
pub(crate) struct ResumedRound {
    pub(super) ticket: Ticket,
    pub(super) conversation: Arc<CallConversation>,
    pub(super) parked_calls: Arc<ParkedCallShared>,
    pub(super) trail: Option<Arc<CallRecord>>,
    pub(super) is_answered: bool,
}

impl ResumedRound {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response, Error>> {
        self.conversation.awaited_by(cx.waker());
        let outcome = if let Some(outcome) = self.conversation.take_outcome() {
            // The place is free before the client gets the outcome, and may call again.
            self.conversation.end();
            self.parked_calls.table.end(self.ticket.call);
            outcome
        } else if let Some(asked) = self.conversation.park(self.parked_calls.limits.ttl) {
            self.parked_calls.ask(Ticket { round: asked.round, ..self.ticket }, &asked)
        } else {
            return Poll::Pending;
        };
        self.is_answered = true;
        if let (Some(known), Some(own)) = (&self.conversation.trail, &self.trail) {
            follow(known, own);
        }
        Poll::Ready(outcome)
    }
}

impl Drop for ResumedRound {
    fn drop(&mut self) {
        if !self.is_answered {
            self.parked_calls.table.end(self.ticket.call);
        }
    }
}
