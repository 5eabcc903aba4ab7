//! A server whose methods show one behaviour each.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mgp_transport::Accept;
use mgp_transport::era::{ServerEraGate, ServerIdentity};
use mgp_transport::http::ResponseStream;
use mgp_types::mcp::Implementation;
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{
    AuthorizationDemand, BoxFuture, Error, Gate as _, Method, Object, Outbox, PeerCertificate, RawJson,
    Request, RequestKind, Response, StreamId, code,
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tower_service::Service;

/// The state that tests and handlers share.
pub(crate) struct World {
    /// Lets one handler that waits go on, per permit.
    pub(crate) gate: Semaphore,
    /// The number of handlers that started, and of those that were dropped before they ended.
    pub(crate) started: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
    /// The requests, in order.
    pub(crate) seen: Mutex<Vec<String>>,
    /// The way to the peer of the newest session.
    pub(crate) outbox: Mutex<Outbox>,
    /// The outbox of the newest call that streams.
    pub(crate) call: Mutex<Outbox>,
    /// The number of messages of a flood that were written.
    pub(crate) written: AtomicUsize,
}

pub(crate) fn world() -> Arc<World> {
    Arc::new(World {
        gate: Semaphore::new(0),
        started: AtomicUsize::new(0),
        dropped: AtomicUsize::new(0),
        seen: Mutex::default(),
        outbox: Mutex::new(Outbox::CLOSED),
        call: Mutex::new(Outbox::CLOSED),
        written: AtomicUsize::new(0),
    })
}

/// Returns the factory of [`Stub`]s in both eras.
pub(crate) fn accept(world: &Arc<World>) -> impl Accept + use<> {
    let mut identity = ServerIdentity::new(Implementation::new("stub", "1"));
    identity.mgp = Some(Offer::new(ExtensionSet::from_names(["streaming"])));
    let identity = Arc::new(identity);
    let world = Arc::clone(world);
    move |outbox: Outbox| {
        *world.outbox.lock() = outbox.clone();
        ServerEraGate::new(Arc::clone(&identity), outbox).layer(Stub(Arc::clone(&world)))
    }
}

#[derive(Clone)]
pub(crate) struct Stub(Arc<World>);

impl Service<Request> for Stub {
    type Response = Response;
    type Error = Error;
    type Future = Counted;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Counted {
        self.0.started.fetch_add(1, Ordering::SeqCst);
        self.0.seen.lock().push(request.method.to_string());
        let world = Arc::clone(&self.0);
        Counted { work: Some(Box::pin(answer(Arc::clone(&world), request))), world }
    }
}

/// Notes whether a handler is dropped.
pub(crate) struct Counted {
    work: Option<BoxFuture<'static, Result<Response, Error>>>,
    world: Arc<World>,
}

impl Future for Counted {
    type Output = Result<Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = self.work.as_mut().unwrap().as_mut().poll(cx);
        if outcome.is_ready() {
            self.work = None;
        }
        outcome
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.work.is_some() {
            self.world.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn answer(world: Arc<World>, request: Request) -> Result<Response, Error> {
    let wait = || async { world.gate.acquire().await.unwrap().forget() };
    match request.method.as_str() {
        "server/discover" => Ok(result(r#"{"capabilities":{"tools":{}}}"#)),
        "tools/list" => Ok(result(r#"{"tools":[]}"#)),
        "notifications/slow" => {
            wait().await;
            Ok(Response::empty())
        }
        "notifications/mgp.stream.pace" => {
            chunk(&request.context.outbox, "paced").await?;
            Ok(Response::empty())
        }
        "mgp/stream/cancel" => {
            let outbox = &request.context.outbox;
            let found = outbox.stream() != StreamId::STANDALONE;
            chunk(outbox, "last").await?;
            let reason = request.params.get("reason").map(|reason| reason.to_text().unwrap());
            let named = request.params.contains("request_id");
            let reason = reason.as_deref().unwrap_or("none");
            Ok(result(&format!(r#"{{"cancelled":{found},"reason":"{reason}","named":{named}}}"#)))
        }
        "notifications/secret" => Err(demanded(AuthorizationDemand::unauthorized(CHALLENGE))),
        _ if request.kind == RequestKind::Notify => Ok(Response::empty()),
        "tools/call" => call_tool(&world, &request).await,
        "prompts/get" | "resources/read" | "tasks/get" => Ok(result(r#"{"done":true}"#)),
        "subscriptions/listen" => {
            if request.params.contains("refuse") {
                return Err(Error::method_not_found(&request.method));
            }
            request.context.outbox.notify(Request::notify(Method::ACKNOWLEDGED, Object::new())).await?;
            wait().await;
            Ok(result("{}"))
        }
        _ => Err(Error::method_not_found(&request.method)),
    }
}

async fn call_tool(world: &World, request: &Request) -> Result<Response, Error> {
    let wait = || async { world.gate.acquire().await.unwrap().forget() };
    match request.params.text("name").as_deref().unwrap_or_default() {
        "notify" => {
            progress(request, 1).await?;
            Ok(result(r#"{"done":true}"#))
        }
        "notify then wait" => {
            progress(request, 1).await?;
            wait().await;
            progress(request, 2).await?;
            Ok(result(r#"{"done":true}"#))
        }
        "stream" => {
            *world.call.lock() = request.context.outbox.clone();
            chunk(&request.context.outbox, "first").await?;
            wait().await;
            Ok(result(r#"{"done":true}"#))
        }
        "wait" => {
            wait().await;
            Ok(result(r#"{"done":true}"#))
        }
        "flood" => {
            for step in 0..1000 {
                progress(request, step).await?;
                world.written.fetch_add(1, Ordering::SeqCst);
            }
            Ok(result(r#"{"done":true}"#))
        }
        "close" => {
            request.extensions.get::<ResponseStream>().expect("the stream can be closed").close();
            wait().await;
            Ok(result(r#"{"done":true}"#))
        }
        "ask" => {
            let answer = request.context.outbox.call(Request::call("roots/list", Object::new())).await?;
            let mut result = Object::new();
            result.set("answer", answer.to_raw());
            Ok(Response::plain(result.to_raw()))
        }
        "token" => Err(demanded(AuthorizationDemand::unauthorized(CHALLENGE))),
        "scope" => Err(demanded(AuthorizationDemand::insufficient_scope(SCOPE_CHALLENGE))),
        "notify then scope" => {
            progress(request, 1).await?;
            Err(demanded(AuthorizationDemand::insufficient_scope(SCOPE_CHALLENGE)))
        }
        "broken challenge" => Err(demanded(AuthorizationDemand::unauthorized("Bearer\r\nset-cookie: x=y"))),
        "away" => Err(Error::new(code::SERVER_NOT_READY, "the database is away").unavailable()),
        "panic" => panic!("a tool that panics"),
        "notify then panic" => {
            progress(request, 1).await?;
            panic!("a tool that panics")
        }
        "impossible" => Err(Error::new(7, "no")),
        "header" => {
            let parts = request.extensions.get::<http::request::Parts>().unwrap();
            let value = parts.headers["x-test"].to_str().unwrap();
            Ok(result(&format!(r#"{{"header":"{value}"}}"#)))
        }
        "certificate" => {
            let parts = request.extensions.get::<http::request::Parts>().unwrap();
            let certificate = parts.extensions.get::<PeerCertificate>();
            let thumbprint = certificate.map_or_else(Vec::new, |shown| shown.thumbprint().to_vec());
            Ok(result(&format!(r#"{{"thumbprint":{thumbprint:?}}}"#)))
        }
        "who" => {
            let name = request.context.principal.as_ref().map_or("nobody", |principal| principal.as_str());
            Ok(result(&format!(r#"{{"who":"{name}"}}"#)))
        }
        "capability" => Err(Error::missing_client_capability(&RawJson::parse(r#"{"sampling":{}}"#).unwrap())),
        _ => Ok(result(r#"{"done":true}"#)),
    }
}

pub(crate) const CHALLENGE: &str =
    r#"Bearer resource_metadata="https://mgp.example/.well-known/oauth-protected-resource""#;
pub(crate) const SCOPE_CHALLENGE: &str =
    r#"Bearer error="insufficient_scope", scope="files:read files:write""#;

fn demanded(demand: AuthorizationDemand) -> Error {
    Error::new(code::PERMISSION_DENIED, "authorization is needed").with_source(demand)
}

pub(crate) async fn chunk(outbox: &Outbox, text: &str) -> Result<(), Error> {
    let params = Object::parse(format!(r#"{{"request_id":"of another","text":"{text}"}}"#)).unwrap();
    outbox.notify(Request::notify(Method::STREAM_CHUNK, params)).await
}

async fn progress(request: &Request, step: u32) -> Result<(), Error> {
    let params = Object::parse(format!(r#"{{"progress":{step}}}"#)).unwrap();
    request.context.outbox.notify(Request::notify(Method::PROGRESS, params)).await
}

fn result(json: &str) -> Response {
    Response::plain(RawJson::parse(json.to_owned()).unwrap())
}
