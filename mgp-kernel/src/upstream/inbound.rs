use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::{EventSeverity, ServerId, method};
use mgp_types::{
    BoxFuture, Context as CallContext, Error, Kind, Method, Object, Outbox, RawJson, Request, Response,
    RpcService, Session, Severity,
};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use super::changed::Changed;
use super::line::Line;
use super::reports::Reports;
use super::told::{Told, What};
use crate::asking::CallsInWork;
use crate::parts::Parts;

/// Brings what one server says unasked to whom it concerns. Makes [`Inbound`] services.
#[derive(Clone)]
pub(super) struct InboundLayer(Arc<Shared>);

struct Shared {
    server: ServerId,
    line: Line,
    parts: Arc<Parts>,
    calls: CallsInWork,
    reports: Reports,
    changed: Changed,
}

impl InboundLayer {
    pub(super) fn new(shared: &super::shared::Shared) -> Self {
        Self(Arc::new(Shared {
            server: shared.server.clone(),
            line: shared.line.clone(),
            parts: Arc::clone(&shared.parts),
            calls: shared.calls.clone(),
            reports: shared.reports.clone(),
            changed: shared.changed.clone(),
        }))
    }
}

impl<S> Layer<S> for InboundLayer {
    type Service = Inbound<S>;

    fn layer(&self, inner: S) -> Inbound<S> {
        Inbound { inner, shared: Arc::clone(&self.0) }
    }
}

/// Sits among what answers the server, in front of the handlers of the client.
///
/// Questions go on, to be passed to the client whose call they are about; where no call is in work they go to the only
/// client there is, and to nobody else. What is about progress and logs goes to callers, too. Lists that changed are
/// listed again elsewhere; nothing here waits for it.
#[derive(Clone)]
pub(super) struct Inbound<S> {
    inner: S,
    shared: Arc<Shared>,
}

type Answer = BoxFuture<'static, Result<Response, Error>>;

impl<S: RpcService<Future: 'static>> Service<Request> for Inbound<S> {
    type Response = Response;
    type Error = Error;
    type Future = Answer;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Answer {
        let shared = &self.shared;
        if request.kind == Kind::Call {
            return if is_question(&request.method) && shared.calls.latest_first().is_empty() {
                Box::pin(Arc::clone(shared).ask_anybody(request))
            } else {
                Box::pin(self.inner.call(request))
            };
        }
        match request.method.as_str() {
            "notifications/progress" => shared.progress(request),
            "notifications/message" => shared.log(request),
            method::CALLBACK_REQUEST => shared.call_back(request),
            "notifications/resources/updated" => {
                if let Some(uri) = request.params.text("uri") {
                    shared.parts.told().updated(&shared.line, &uri);
                }
                Box::pin(self.inner.call(request))
            }
            "notifications/tools/list_changed" => self.listed_anew(What::Tools, request),
            "notifications/prompts/list_changed" => self.listed_anew(What::Prompts, request),
            "notifications/resources/list_changed" => self.listed_anew(What::Resources, request),
            method::EVENT => {
                shared.event(&request);
                Box::pin(self.inner.call(request))
            }
            method::LIFECYCLE => shared.publish("lifecycle", &request.params),
            method::AUDIT => shared.publish("audit", &request.params),
            "notifications/tasks/status" | "notifications/elicitation/complete" => {
                let said = Request::notify(request.method.clone(), request.params.clone());
                shared.parts.told().said(&shared.line, said);
                Box::pin(self.inner.call(request))
            }
            _ => Box::pin(self.inner.call(request)),
        }
    }
}

impl<S: RpcService<Future: 'static>> Inbound<S> {
    /// The client behind hears of it first: what it keeps must not be what was there before.
    fn listed_anew(&mut self, what: What, request: Request) -> Answer {
        let heard = self.inner.call(request);
        self.shared.changed.mark(what);
        Box::pin(heard)
    }
}

impl Shared {
    /// A question that no call can be the reason for goes to the only client there is.
    async fn ask_anybody(self: Arc<Self>, question: Request) -> Result<Response, Error> {
        match self.parts.told().only_client() {
            Some(client) => client.outbox.call(Request::call(question.method, question.params)).await,
            // Roots that are nobody's in particular are none.
            None if question.method == Method::ROOTS_LIST => {
                Ok(Response::new(RawJson::from_written(br#"{"roots":[]}"#.to_vec())))
            }
            None => Err(Error::invalid_request(NOBODY)),
        }
    }

    /// Reports progress to the caller, in the caller's words. What belongs to no call is for nobody.
    fn progress(&self, mut report: Request) -> Answer {
        let number = report.params.get("progressToken").and_then(|token| token.to::<u64>().ok());
        let Some((outbox, token)) = number.and_then(|number| self.reports.reported(number)) else {
            return done();
        };
        report.params.set("progressToken", token);
        tell(outbox, Request::notify(report.method, report.params))
    }

    /// A log message is for the client whose calls there are, else for all that want to hear it.
    fn log(&self, message: Request) -> Answer {
        let message = Request::notify(message.method, message.params);
        let calls = self.calls.latest_first();
        let Some(newest) =
            calls.first().filter(|newest| calls.iter().all(|call| is_same_client(call, newest)))
        else {
            self.parts.told().log(&self.line, message);
            return done();
        };
        let level = message.params.text("level").and_then(|level| Severity::named(&level));
        let wants = |session: &Arc<Session>| level.is_some_and(|level| session.wants_log(level));
        if newest.session.as_ref().is_some_and(wants) {
            return tell(newest.outbox.clone(), message);
        }
        done()
    }

    /// A callback goes to whoever made the call that it is about, under an id of ours.
    fn call_back(&self, request: Request) -> Answer {
        let stream = request.context.outbox.stream();
        let Some(call) = self.calls.on(stream) else {
            tracing::debug!(server = %self.server, "dropping a callback that is about no call");
            return done();
        };
        self.reports.call_back(stream);
        let mut relay = self.parts.fleet.callbacks().lock();
        let passed = relay.pass_on(&self.server, &call, &request.params, Instant::now());
        drop(relay);
        match passed {
            Ok(params) => tell(call.outbox, Request::notify(request.method, params)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    /// An event of a server's channel is one of the kernel's, under the server's name.
    fn event(&self, request: &Request) {
        let Some(channel) = request.params.text("channel") else { return };
        let channel = format!("{}.{channel}", self.server);
        let data =
            request.params.get("data").and_then(|data| Object::from_raw(&data).ok()).unwrap_or_default();
        let severity = request.params.get("severity").and_then(|raw| raw.to::<EventSeverity>().ok());
        if let Err(error) = self.changed.declare(&self.parts.events, &channel) {
            return tracing::debug!(server = %self.server, %error, "an event is dropped");
        }
        self.publish_on(&channel, severity.unwrap_or(EventSeverity::Info), &data);
    }

    fn publish(&self, channel: &str, data: &Object) -> Answer {
        self.publish_on(channel, EventSeverity::Info, data);
        done()
    }

    fn publish_on(&self, channel: &str, severity: EventSeverity, data: &Object) {
        if let Err(error) = self.parts.events.publish(channel, severity, data) {
            tracing::debug!(server = %self.server, %error, "an event is dropped");
        }
    }
}

fn done() -> Answer {
    Box::pin(std::future::ready(Ok(Response::empty())))
}

fn tell(outbox: Outbox, notification: Request) -> Answer {
    Box::pin(async move { outbox.notify(notification).await.map(|()| Response::empty()) })
}

fn is_question(method: &Method) -> bool {
    *method == Method::ELICIT || *method == Method::CREATE_MESSAGE || *method == Method::ROOTS_LIST
}

fn is_same_client(one: &CallContext, other: &CallContext) -> bool {
    match (&one.session, &other.session) {
        (Some(one), Some(other)) if Arc::ptr_eq(one, other) => true,
        _ => one.principal.is_some() && one.principal == other.principal,
    }
}

const NOBODY: &str = "there is no client to ask: no call is in work, and not exactly one client is connected; ask in \
                      the middle of a call";
