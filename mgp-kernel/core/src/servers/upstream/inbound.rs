//! The messages that a server sends, passed to the clients that they concern.

use std::sync::{Arc, Weak};

use mgp_types::ext::SessionEvent;
use mgp_types::mgp::{Event, EventSeverity, SubscriptionId, Timestamp, method};
use mgp_types::{
    BoxFuture, Error, MessageSender, Method, MethodRule, Outbox, RawJson, Request, RequestKind, Response,
    RpcService, Session, Severity, code,
};
use tokio::time::Instant;
use tower_service::Service;

use super::connection_shared::ConnectionShared;
use super::kernel_members::without_kernel_members;
use super::outcome::{in_own_name, note_question};
use super::stale_lists::ListKind;
use crate::approvals::{check_declared, is_question, relay};
use crate::call::calls_in_work::{ActiveCallers, CallReference};
use crate::telemetry::counts::MAX_A_MINUTE;

/// A layer that passes the messages of one server to the clients that they concern. Makes [`ServerInbound`] services. The
/// connection holds the client whose messages these are, so the reference back is weak.
#[derive(Clone)]
pub(super) struct ServerInboundLayer(pub(super) Weak<ConnectionShared>);

mgp_types::layer!(ServerInboundLayer, self, inner => ServerInbound { inner, shared: Weak::clone(&self.0) });

/// A service that stands among those that answer the server, in front of the handlers of the client.
///
/// Questions are passed to the client whose call they are about; where no call is in work they go to the only client that
/// may use the server, and to nobody else. While a client is asked, nothing here holds the connection. Progress and log messages go to callers, too. Lists that changed
/// are listed again elsewhere; nothing here waits for it.
#[derive(Clone)]
pub(super) struct ServerInbound<S> {
    inner: S,
    shared: Weak<ConnectionShared>,
}

type AnswerFuture = BoxFuture<'static, Result<Response, Error>>;

impl<S: RpcService<Future: 'static>> Service<Request> for ServerInbound<S> {
    type Future = AnswerFuture;

    mgp_types::ready_as_inner!();

    fn call(&mut self, mut request: Request) -> AnswerFuture {
        let Some(shared) = self.shared.upgrade() else {
            return failed(Error::disconnected("the connection is over"));
        };
        request.params = without_kernel_members(request.params);
        if !MethodRule::of(&request).is_some_and(|rule| rule.is_sent_by(MessageSender::Server)) {
            return shared.vendor(request);
        }
        let request = match in_own_name(&shared.server, request) {
            Ok(request) => request,
            Err(error) => return failed(error),
        };
        if request.kind == RequestKind::Call {
            if request.method.as_str().starts_with("mgp/data/") {
                let answer = shared.support.data.answer_server(&shared.server, &request);
                return Box::pin(std::future::ready(answer));
            }
            if !is_question(&request.method) {
                return Box::pin(self.inner.call(request));
            }
            let audit = &shared.support.audit;
            // A flood is recorded as a number.
            if let Some(before) = shared.state.questions.lock().count(audit.minute(), MAX_A_MINUTE) {
                note_question(audit, &shared.server, request.method.as_str(), before);
            }
            if shared.is_about_no_call(&request) {
                return shared.ask_anybody(request);
            }
            let (calls, elicitations) = (shared.state.calls.clone(), Arc::clone(&shared.state.elicitations));
            return Box::pin(async move { relay(&calls, &elicitations, request).await });
        }
        match request.method.as_str() {
            "notifications/progress" => return shared.progress(request),
            "notifications/message" => return shared.log(request),
            method::CALLBACK_REQUEST => return shared.call_back(request),
            "notifications/resources/updated" => {
                shared.tell_peers(&request);
                if let Some(uri) = request.params.text("uri") {
                    shared.support.tell(|changes| changes.updated(&shared.key, &uri));
                }
            }
            // The kernel's own channels of these names say what the kernel saw.
            of_kernel @ (method::LIFECYCLE | method::AUDIT) => {
                let channel = if of_kernel == method::AUDIT { "audit" } else { "lifecycle" };
                let event =
                    Event::new(SubscriptionId::new(""), channel, Timestamp::now(), request.params.clone());
                shared.publish_event(event.with_severity(EventSeverity::Info));
                return done();
            }
            "notifications/tasks/status" => {
                let mut status = request.params.clone();
                if let Some(owner) = shared.record_task_status(&mut status) {
                    let status = Request::notify(request.method.clone(), status);
                    shared.support.tell(|changes| changes.task(&shared.key, &owner, &status));
                }
            }
            SessionEvent::METHOD => return shared.to_caller(request),
            "notifications/elicitation/complete" => shared.complete(&request),
            _ => {}
        }
        let changed = ListKind::ALL.into_iter().find(|list| list.changed() == request.method);
        if changed.is_some() {
            shared.tell_peers(&request);
        }
        // The client handler behind gets the notification first: its cached list must not be the old one.
        let heard = self.inner.call(request);
        if let Some(list) = changed {
            shared.state.changed.mark([list]);
        }
        Box::pin(heard)
    }
}

impl ConnectionShared {
    /// Handles a message that by the table of methods no server sends. A request is refused. A notification that the
    /// operator has passed goes to the client whose call is in work, and where several have one, to none of them.
    fn vendor(&self, message: Request) -> AnswerFuture {
        if message.kind == RequestKind::Call {
            return failed(Error::method_not_found(&message.method));
        }
        if !self.passed.has(message.method.as_str()) {
            tracing::debug!(server = %self.server, "dropping a notification that no server sends");
            return done();
        }
        self.to_caller(message)
    }

    /// Passes a notification to the client whose call is in work; where several clients have one and the notification is
    /// not about a call, to none of them.
    fn to_caller(&self, message: Request) -> AnswerFuture {
        let callers = (self.state.calls.about(&message), self.state.calls.callers());
        let ((CallReference::This(call), _) | (_, ActiveCallers::One(call))) = callers else { return done() };
        tell(call.outbox, Request::notify(message.method, message.params))
    }

    /// Passes a notification that is about no call to the other kernels that use the connection.
    pub(super) fn tell_peers(&self, message: &Request) {
        let mut peers = self.state.peers.lock();
        peers.retain(|session| session.strong_count() > 0);
        let mut beside = self.state.beside.lock();
        while beside.try_join_next().is_some() {}
        for session in peers.iter().filter_map(Weak::upgrade) {
            let change = Request::notify(message.method.clone(), message.params.clone());
            let sending = tell(session.outbox.clone(), change);
            // A kernel that is gone lists the server anew when it comes back.
            beside.spawn(async move { drop(sending.await) });
        }
    }

    fn is_about_no_call(&self, question: &Request) -> bool {
        match self.state.calls.about(question) {
            CallReference::This(_) => false,
            CallReference::Another => true,
            CallReference::Unsaid => matches!(self.state.calls.callers(), ActiveCallers::Nobody),
        }
    }

    /// Asks a question that no call can be the reason for. It goes to the only client that it can be for, if that
    /// client can be asked it.
    fn ask_anybody(&self, question: Request) -> AnswerFuture {
        let minute = self.support.audit.minute();
        if self.state.unasked.lock().count(minute, MAX_UNASKED_A_MINUTE).is_none() {
            let message = format!(
                "the server asks more than {MAX_UNASKED_A_MINUTE} questions a minute outside of calls"
            );
            return failed(Error::new(code::RATE_LIMITED, message));
        }
        let client = self.support.changes.upgrade().and_then(|changes| changes.only_client(&self.key));
        let elicitations = Arc::clone(&self.state.elicitations);
        Box::pin(async move {
            let asked = match client {
                Some(client) => check_declared(&client, &question).await.map(|()| client),
                None => Err(Error::invalid_request(NOBODY)),
            };
            match asked {
                Ok(client) => {
                    elicitations.note(&question, &client);
                    client.outbox.call(Request::call(question.method, question.params)).await
                }
                // Without a particular client there are no roots.
                Err(_) if question.method == Method::ROOTS_LIST => {
                    Ok(Response::new(RawJson::from_written(br#"{"roots":[]}"#.to_vec())))
                }
                Err(refusal) => Err(refusal),
            }
        })
    }

    /// Notifies the client that was sent to a page, and no other, that all is done there.
    fn complete(&self, notification: &Request) {
        let id = notification.params.text("elicitationId");
        if let Some(session) = id.and_then(|id| self.state.elicitations.session(&id)) {
            let message = Request::notify(notification.method.clone(), notification.params.clone());
            self.support.tell(|changes| changes.one(&session, message));
        }
    }

    /// Reports progress to the caller, under the caller's token. Progress that belongs to no call and no task is
    /// dropped.
    fn progress(&self, mut report: Request) -> AnswerFuture {
        let Some(number) = report.params.get("progressToken").and_then(|token| token.to::<u64>().ok()) else {
            return done();
        };
        if let Some((outbox, token)) = self.state.calls.reported(number) {
            report.params.set("progressToken", token);
            return tell(outbox, Request::notify(report.method, report.params));
        }
        if let Some((session, token)) = self.support.tables.tasks.reported(&self.tasks_at, number) {
            report.params.set("progressToken", token);
            let report = Request::notify(report.method, report.params);
            self.support.tell(|changes| changes.one(&session, report));
        }
        done()
    }

    /// Passes a log message to the client whose calls are in work, or to all that want it where there are none. With
    /// several clients it is not known whose message it is, and it may contain one client's data.
    fn log(&self, message: Request) -> AnswerFuture {
        let call = match (self.state.calls.about(&message), self.state.calls.callers()) {
            (CallReference::This(call), _) | (_, ActiveCallers::One(call)) => call,
            (_, ActiveCallers::Nobody) => {
                let message = Request::notify(message.method, message.params);
                self.support.tell(|changes| changes.log(&self.key, &message));
                return done();
            }
            (_, ActiveCallers::Several) => {
                tracing::debug!(server = %self.server, "dropping a log message: it may be about any of several clients");
                return done();
            }
        };
        let level = message.params.text("level").and_then(|level| Severity::named(&level));
        let wants = |session: &Arc<Session>| level.is_some_and(|level| session.wants_log(level));
        if call.session.as_ref().is_some_and(wants) {
            return tell(call.outbox, Request::notify(message.method, message.params));
        }
        done()
    }

    /// Passes a callback to the client that made the call that it is about, under an id of the kernel's.
    fn call_back(&self, request: Request) -> AnswerFuture {
        let stream = request.context.outbox.stream();
        let Some(call) = self.state.calls.on(stream) else {
            tracing::debug!(server = %self.server, "dropping a callback that is about no call");
            return done();
        };
        let Some(stack) = self.state.stack.get().map(|stack| stack.service.clone()) else { return done() };
        self.state.calls.call_back(stream);
        let mut callbacks = self.support.tables.callbacks.lock();
        let passed = callbacks.pass_on((&self.server, stack), &call, &request.params, Instant::now());
        let over = callbacks.over();
        drop(callbacks);
        // Dropped without the lock: a connection may end with its way.
        drop(over);
        match passed {
            Ok(params) => tell(call.outbox, Request::notify(request.method, params)),
            Err(error) => failed(error),
        }
    }
}

fn done() -> AnswerFuture {
    Box::pin(std::future::ready(Ok(Response::empty())))
}

fn failed(error: Error) -> AnswerFuture {
    Box::pin(std::future::ready(Err(error)))
}

fn tell(outbox: Outbox, notification: Request) -> AnswerFuture {
    Box::pin(async move { outbox.notify(notification).await.map(|()| Response::empty()) })
}

/// The largest number of questions that are about no call and reach a client in a minute.
const MAX_UNASKED_A_MINUTE: u64 = 10;

const NOBODY: &str = "there is no client to ask: no call is in work, and not exactly one client that may use this server \
                      is connected and ready; ask in the middle of a call";

#[cfg(test)]
mod tests;
