//! Tests of a server's life, and the fixtures they share.

mod attacks;
mod capacity;
mod deadline;
mod health;
mod schedules;
mod shutdown;
mod telling;

use std::sync::Arc;

use mgp_types::mgp::Extension;
use mgp_types::{Error, Object, Outbox, Request, Response, Revision, Session, StreamId, code};
use tokio::task::JoinHandle;
use tower_layer::Layer;
use tower_service::Service;

use super::{LifecycleLayer, LifecycleService, ServerLifecycle};
use crate::doubles::{Caller, Upstream, agreed};

/// Returns the changes that a peer was told, as `previous > new because reason`.
fn changes_of(peer: &Caller) -> Vec<String> {
    let line = |(stream, request): &(StreamId, Request)| {
        assert_eq!((*stream, request.method.as_str()), (StreamId::STANDALONE, "notifications/mgp.lifecycle"));
        let change: mgp_types::mgp::LifecycleChange = request.body().unwrap();
        assert_eq!(change.server_id, "mind".into());
        let reason = change.reason.unwrap_or_default();
        format!("{} > {} because {reason}", change.previous_state, change.new_state)
    };
    peer.got().iter().map(line).collect()
}

/// Returns a session that negotiated these extensions.
fn session_with(extensions: &[Extension], outbox: Outbox) -> Arc<Session> {
    let mut session = agreed(Revision::V2025_11_25, extensions);
    session.outbox = outbox;
    Arc::new(session)
}

fn lifecycle() -> Arc<Session> {
    session_with(&[Extension::Lifecycle], Outbox::CLOSED)
}

fn plain() -> Arc<Session> {
    Arc::new(Session::new(Revision::V2025_11_25))
}

fn reaching(peer: &Arc<Caller>) -> Arc<Session> {
    session_with(&[Extension::Lifecycle], peer.standalone())
}

/// Returns a server that takes calls, and its life.
fn started() -> (ServerLifecycle, Upstream, LifecycleService<Upstream>) {
    let (life, server) = (ServerLifecycle::new("mind".into()), Upstream::obeying());
    life.ready().unwrap();
    let service = LifecycleLayer::new(life.clone()).layer(server.clone());
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

async fn ask(service: &LifecycleService<Upstream>, request: Request) -> Result<Response, Error> {
    service.clone().call(request).await
}

/// Starts a call in a task of its own, and waits until it has begun.
async fn begin(
    service: &LifecycleService<Upstream>,
    request: Request,
) -> JoinHandle<Result<Response, Error>> {
    let task = tokio::spawn(service.clone().call(request));
    tokio::task::yield_now().await;
    task
}

fn text(response: &Response) -> String {
    String::from_utf8(response.to_raw().as_bytes().to_vec()).unwrap()
}

/// Checks that the call was in progress when the server ended, and must not be repeated.
#[track_caller]
fn assert_cut_off(outcome: &Result<Response, Error>) {
    let error = outcome.as_ref().unwrap_err();
    assert_eq!((error.code(), error.recovery().unwrap().retryable), (code::SERVER_DRAINING, Some(false)));
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
