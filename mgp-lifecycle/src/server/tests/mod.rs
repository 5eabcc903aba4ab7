mod capacity;
mod deadline;
mod health;
mod schedules;
mod shutdown;
mod telling;

use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::mgp::{Extension, ExtensionSet, Negotiated, Offer};
use mgp_types::{
    BoxFuture, Error, Object, Outbox, OutboxPort, Request, Response, Revision, Session, StreamId, code,
};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tower_layer::Layer;
use tower_service::Service;

use super::{Life, LifeLayer, LifeService};

/// A server whose tools do what their names say; `after-5` is done after five milliseconds.
#[derive(Debug, Clone, Default)]
struct Server {
    seen: Arc<Mutex<Vec<String>>>,
    working: Arc<AtomicUsize>,
    is_never_ready: bool,
}

impl Server {
    fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }

    /// How many handlers have begun and are neither done nor dropped.
    fn working(&self) -> usize {
        self.working.load(Ordering::Relaxed)
    }
}

impl Service<Request> for Server {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.is_never_ready { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.seen.lock().push(request.method.as_str().to_owned());
        let method = request.method.as_str();
        if method.starts_with("mgp/health") || method.starts_with("mgp/lifecycle") {
            return Box::pin(ready(Err(Error::method_not_found(&request.method))));
        }
        let tool = request.params.text("name").unwrap_or_default().into_owned();
        let working = Working::begin(&self.working);
        Box::pin(async move {
            let _working = working;
            match tool.strip_prefix("after-") {
                Some(millis) => sleep(Duration::from_millis(millis.parse().unwrap())).await,
                None if tool == "never" => pending().await,
                None if tool == "yields" => tokio::task::yield_now().await,
                None if tool == "panics" => panic!("on purpose"),
                None if tool == "panics-late" => {
                    tokio::task::yield_now().await;
                    panic!("on purpose");
                }
                None if tool == "fail" => return Err(Error::internal("it failed")),
                None => {}
            }
            Ok(Response::empty())
        })
    }
}

struct Working(Arc<AtomicUsize>);

impl Working {
    fn begin(working: &Arc<AtomicUsize>) -> Self {
        working.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(working))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A peer that keeps what it is told, or does not take anything.
#[derive(Default)]
struct Peer {
    told: Mutex<Vec<Request>>,
    is_stuck: bool,
}

impl Peer {
    /// What it was told, as `previous > new because reason`.
    fn changes(&self) -> Vec<String> {
        let told = self.told.lock();
        let line = |request: &Request| {
            assert_eq!(request.method.as_str(), "notifications/mgp.lifecycle");
            let change: mgp_types::mgp::LifecycleChange = request.body().unwrap();
            assert_eq!(change.server_id, "mind".into());
            let reason = change.reason.unwrap_or_default();
            format!("{} > {} because {reason}", change.previous_state, change.new_state)
        };
        told.iter().map(line).collect()
    }
}

impl OutboxPort for Peer {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        assert_eq!(stream, StreamId::STANDALONE);
        if self.is_stuck {
            return Box::pin(pending());
        }
        self.told.lock().push(notification);
        Box::pin(ready(Ok(())))
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(ready(Err(Error::cancelled())))
    }
}

/// A session that negotiated these extensions.
fn session_with(extensions: &[Extension], outbox: Outbox) -> Arc<Session> {
    let offer = Offer::new(extensions.iter().cloned().collect::<ExtensionSet>());
    let mut session = Session::new(Revision::V2025_11_25);
    session.mgp = Negotiated::agree(&offer, &offer);
    session.outbox = outbox;
    Arc::new(session)
}

fn lifecycle() -> Arc<Session> {
    session_with(&[Extension::Lifecycle], Outbox::CLOSED)
}

fn plain() -> Arc<Session> {
    Arc::new(Session::new(Revision::V2025_11_25))
}

fn reaching(peer: &Arc<Peer>) -> Arc<Session> {
    session_with(&[Extension::Lifecycle], Outbox::new(peer.clone(), StreamId::STANDALONE))
}

/// A server that takes calls, and its life.
fn started() -> (Life, Server, LifeService<Server>) {
    let (life, server) = (Life::new("mind".into()), Server::default());
    life.ready().unwrap();
    let service = LifeLayer::new(life.clone()).layer(server.clone());
    (life, server, service)
}

fn request(session: &Arc<Session>, method: &str, params: &str) -> Request {
    let mut request = Request::call(method, Object::parse(params.to_owned()).unwrap());
    request.context.session = Some(session.clone());
    request
}

fn tool(session: &Arc<Session>, name: &str) -> Request {
    request(session, "tools/call", &format!(r#"{{"name":"{name}"}}"#))
}

fn stop(session: &Arc<Session>, timeout_ms: u64) -> Request {
    let params = format!(r#"{{"reason":"operator_request","timeout_ms":{timeout_ms}}}"#);
    request(session, "mgp/lifecycle/shutdown", &params)
}

async fn ask(service: &LifeService<Server>, request: Request) -> Result<Response, Error> {
    service.clone().call(request).await
}

/// A call in a task of its own, which has begun.
async fn begin(service: &LifeService<Server>, request: Request) -> JoinHandle<Result<Response, Error>> {
    let task = tokio::spawn(service.clone().call(request));
    tokio::task::yield_now().await;
    task
}

fn text(response: &Response) -> String {
    String::from_utf8(response.to_raw().as_bytes().to_vec()).unwrap()
}

#[track_caller]
fn assert_draining(outcome: Result<Response, Error>) -> u64 {
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), code::SERVER_DRAINING);
    let recovery = error.recovery().unwrap();
    assert_eq!(recovery.category, Some(mgp_types::mgp::Category::Lifecycle));
    assert!(recovery.may_retry());
    recovery.retry_after_ms.unwrap()
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
