//! The service that parks a call which asks its client, and goes on with it when the client comes back.
//!
//! To run the call again with the answer would pass its gates twice. Only what the protocols force is parked,
//! bounded in number and time.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use mgp_security::audit::AuditLayer;
use mgp_types::mgp::CallRecord;
use mgp_types::{
    Error, InputQuestion, Method, Object, Outbox, Request, RequestKind, Response, RpcService, Session,
};
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use tokio::task::AbortHandle;
use tokio::time::{Instant, Sleep, sleep_until};
use tower_service::Service;

use super::conversation::{CallConversation, RoundQuestions};
use super::quota::{ParkedCallLimits, Quota};
use super::ticket::{Ticket, Tickets, binding, unknown};
use super::unattended::UnattendedCall;

/// A layer that makes [`ParkedCallService`] services, which share the calls they have parked.
#[derive(Clone)]
pub(crate) struct ParkedCallLayer(pub(super) Arc<ParkedCallShared>);

impl ParkedCallLayer {
    /// Makes a layer that parks no more calls than `limits` allows. The outcome of calls whose clients do not come back
    /// is recorded by `audit`, as each round is by the layer in front.
    pub(crate) fn new(limits: ParkedCallLimits, audit: Option<AuditLayer>) -> Self {
        Self(Arc::new(ParkedCallShared {
            quota: Arc::new(Quota::new(limits)),
            tickets: Tickets::new(),
            table: ParkedCallTable::default(),
            audit,
        }))
    }

    /// Stops parking calls, and ends those that wait for clients which are away: nobody will be there for their
    /// answers.
    pub(crate) fn close(&self) {
        self.0.quota.close();
        self.0.table.end_unattended();
    }
}

mgp_types::layer!(
    ParkedCallLayer, self, inner => ParkedCallService { inner, parked_calls: Arc::clone(&self.0) }
);

/// A service that lets the services behind it ask a client that cannot be asked directly, in the middle of a call.
///
/// Sits behind authentication, audit and limits, which see every round, and in front of all that decides about a call:
/// a round that brings answers continues the call that waits for them, and passes no gate again. Reads
/// `context.session`, `context.principal` and `context.trail`, and puts a port of its own in front of `context.outbox`.
/// Questions that are asked there until the call waits become the result of the round, and the call is parked: it goes
/// on by itself, but its notifications meanwhile (progress, logs, parts of its result) are dropped, because there is no
/// stream on which they could be sent.
///
/// The state that the client keeps is sealed and bound to the principal and the request. A state that was tampered
/// with, was used, belongs to somebody else or is too old is refused with -32602; a state that is not of this process
/// is passed on. A question for which there is no place is refused, and its asker gets an error. Dropping a round
/// cancels its call.
///
/// Costs a box and an uncontended lock for a call of a stateless client that can be asked; others pass through.
#[derive(Clone)]
pub(crate) struct ParkedCallService<S> {
    inner: S,
    parked_calls: Arc<ParkedCallShared>,
}

impl<S: RpcService<Future: 'static>> ParkedCallService<S> {
    /// Begins a call that may ask.
    fn start(&mut self, mut request: Request, session: &Arc<Session>) -> ParkedCallFuture<S::Future> {
        let mut subject = request.clone();
        // The way back ends with the round.
        subject.context.outbox = Outbox::CLOSED;
        let conversation = CallConversation::begin(&request, session, &self.parked_calls);
        request.context.outbox = conversation.outbox();
        let call = Some(AskableCall { future: Box::pin(self.inner.call(request)), conversation });
        let parked_calls = Arc::clone(&self.parked_calls);
        ParkedCallFuture::Started { started: FirstRound { call, subject, parked_calls } }
    }

    /// Continues a parked call.
    ///
    /// # Errors
    /// -32602 if no call waits for the answers of the request.
    fn resume(&self, sealed: &str, request: &Request) -> Result<ResumedRound, Error> {
        let ticket = self.parked_calls.tickets.open(sealed, request)?;
        let answers = request.params.get("inputResponses").map(|raw| Object::from_raw(&raw)).transpose();
        let answers = answers.map_err(|_| Error::invalid_params("`inputResponses` must be an object"))?;
        let conversation = self.parked_calls.table.get(ticket.call).ok_or_else(unknown)?;
        conversation.resume(ticket.round, request, &answers.unwrap_or_default())?;
        let (parked_calls, trail) = (Arc::clone(&self.parked_calls), request.context.trail.clone());
        Ok(ResumedRound { ticket, conversation, parked_calls, trail, is_answered: false })
    }
}

impl<S: RpcService<Future: 'static>> Service<Request> for ParkedCallService<S> {
    type Future = ParkedCallFuture<S::Future>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, request: Request) -> Self::Future {
        let is_stateless = |session: &Arc<Session>| session.describes_each_request();
        let session = request.context.session.clone().filter(is_stateless);
        let Some(session) = session.filter(|_| request.kind == RequestKind::Call && may_ask(&request.method))
        else {
            return ParkedCallFuture::Passed { future: self.inner.call(request) };
        };
        if let Some(state) = request.params.text("requestState")
            && let Some(sealed) = self.parked_calls.tickets.sealed(&state)
        {
            return match self.resume(sealed, &request) {
                Ok(resumed) => ParkedCallFuture::Resumed { resumed },
                Err(error) => ParkedCallFuture::Refused { error: Some(error) },
            };
        }
        // Only a client that declared that it can be asked something is asked.
        if ["elicitation", "sampling", "roots"].iter().any(|name| session.peer_can(&[name])) {
            return self.start(request, &session);
        }
        ParkedCallFuture::Passed { future: self.inner.call(request) }
    }
}

fn may_ask(method: &Method) -> bool {
    *method == Method::TOOLS_CALL || *method == Method::PROMPTS_GET || *method == Method::RESOURCES_READ
}

pin_project! {
    /// The future of [`ParkedCallService`].
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
    call: Option<AskableCall<F>>,
    /// The request of the client, without the way back.
    subject: Request,
    parked_calls: Arc<ParkedCallShared>,
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
        let Some(asked) = conversation.park(self.parked_calls.quota.limits.ttl) else { return Poll::Pending };
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
    ticket: Ticket,
    conversation: Arc<CallConversation>,
    parked_calls: Arc<ParkedCallShared>,
    trail: Option<Arc<CallRecord>>,
    is_answered: bool,
}

impl ResumedRound {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response, Error>> {
        self.conversation.awaited_by(cx.waker());
        let outcome = if let Some(outcome) = self.conversation.take_outcome() {
            // The place is free before the client gets the outcome, and may call again.
            self.conversation.end();
            self.parked_calls.table.end(self.ticket.call);
            outcome
        } else if let Some(asked) = self.conversation.park(self.parked_calls.quota.limits.ttl) {
            self.parked_calls.ask(Ticket { round: asked.round, ..self.ticket }, &asked)
        } else {
            return Poll::Pending;
        };
        self.is_answered = true;
        if let (Some(known), Some(own)) = (&self.conversation.trail, &self.trail) {
            own.follow(known);
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
        let is_away = |_: &u64, entry: &mut ParkedCall| entry.conversation.is_away();
        let ended: Vec<_> = self.0.lock().calls.extract_if(is_away).map(|(_, entry)| entry).collect();
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
        conversation.poll_over(this.sleep.as_mut(), cx)
    }
}

impl<F> Drop for ParkedCallDriver<F> {
    fn drop(&mut self) {
        if let Some(parked_calls) = self.parked_calls.upgrade() {
            parked_calls.table.end(self.number);
        }
    }
}
