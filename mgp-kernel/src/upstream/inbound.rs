use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::{EventSeverity, ServerId, method};
use mgp_types::{BoxFuture, Error, Kind, Method, Object, Request, Response, RpcService};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use super::calls::{Callers, Calls};
use super::changed::Changed;
use super::told::What;
use crate::parts::Parts;

/// Brings what one server says unasked to whom it concerns. Makes [`Inbound`] services.
#[derive(Clone)]
pub(super) struct InboundLayer(Arc<Shared>);

struct Shared {
    server: ServerId,
    parts: Arc<Parts>,
    calls: Calls,
    changed: Changed,
}

impl InboundLayer {
    pub(super) fn new(server: ServerId, parts: Arc<Parts>, calls: Calls, changed: Changed) -> Self {
        Self(Arc::new(Shared { server, parts, calls, changed }))
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
/// A question goes to the client whose call it is about; where nothing says which that is, to the only client there
/// can be, and to nobody else. What is about progress and logs goes the same way. Lists that changed are listed again
/// elsewhere; nothing here waits for it.
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
            return if request.method == Method::PING {
                Box::pin(self.inner.call(request))
            } else {
                Box::pin(Arc::clone(shared).ask(request))
            };
        }
        match request.method.as_str() {
            "notifications/progress" => shared.progress(request),
            "notifications/message" => shared.log(request),
            method::CALLBACK_REQUEST => shared.call_back(request),
            "notifications/resources/updated" => {
                if let Some(uri) = request.params.text("uri") {
                    shared.parts.told().updated(&shared.server, &uri);
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
    /// Asks the client that a question of the server is for.
    async fn ask(self: Arc<Self>, question: Request) -> Result<Response, Error> {
        let outbox = self.calls.on(question.context.outbox.stream()).map(|caller| caller.outbox);
        let outbox = match outbox {
            Some(outbox) => Some(outbox),
            None => match self.calls.callers() {
                Callers::One(caller) => Some(caller.outbox),
                Callers::Several if question.method == Method::ROOTS_LIST => None,
                Callers::Several => return Err(Error::invalid_request(SEVERAL)),
                Callers::Nobody => self.parts.told().only_client().map(|session| session.outbox.clone()),
            },
        };
        match outbox {
            Some(outbox) => outbox.call(Request::call(question.method, question.params)).await,
            None if question.method == Method::ROOTS_LIST => {
                Ok(Response::new(mgp_types::RawJson::from_written(br#"{"roots":[]}"#.to_vec())))
            }
            None => Err(Error::invalid_request(NOBODY)),
        }
    }

    /// Reports progress to the caller, in the caller's words. What belongs to no call is for nobody.
    fn progress(&self, mut report: Request) -> Answer {
        let number = report.params.get("progressToken").and_then(|token| token.to::<u64>().ok());
        let Some((outbox, token)) = number.and_then(|number| self.calls.reports(number)) else {
            return done();
        };
        report.params.set("progressToken", token);
        Box::pin(async move {
            outbox.notify(Request::notify(report.method, report.params)).await.map(|()| Response::empty())
        })
    }

    /// A log message is for the client whose calls there are, else for all that want to hear it.
    fn log(&self, message: Request) -> Answer {
        let message = Request::notify(message.method, message.params);
        let Callers::One(caller) = self.calls.callers() else {
            self.parts.told().log(&self.server, message);
            return done();
        };
        let level = message.params.text("level").and_then(|level| mgp_types::Severity::named(&level));
        let wants = caller.session.is_some_and(|session| level.is_some_and(|level| session.wants_log(level)));
        if !wants {
            return done();
        }
        Box::pin(async move { caller.outbox.notify(message).await.map(|()| Response::empty()) })
    }

    /// A callback goes to whoever made the call that it is about, under an id of ours.
    fn call_back(&self, request: Request) -> Answer {
        let stream = request.context.outbox.stream();
        let Some(caller) = self.calls.call_back(stream) else {
            tracing::debug!(server = %self.server, "dropping a callback that is about no call");
            return done();
        };
        let mut relay = self.parts.fleet.callbacks().lock();
        let passed = relay.pass_on(&self.server, &caller.context(), &request.params, Instant::now());
        drop(relay);
        Box::pin(async move {
            let passed = Request::notify(request.method, passed?);
            caller.outbox.notify(passed).await.map(|()| Response::empty())
        })
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

const SEVERAL: &str = "calls of several clients are in work, and nothing says which of them the question is about; ask \
                       when there is one, or serve each client by a session of its own";
const NOBODY: &str = "there is no client to ask: no call is in work, and not exactly one client is connected; ask in \
                      the middle of a call";
