//! Tests of streamed calls, and the fixtures they share.

use std::sync::Arc;

use mgp_types::{Error, Method, Outbox, RawJson, Request, Response, Revision, Session, StreamId};
use tokio::task::JoinHandle;
use tower_layer::Layer;
use tower_service::Service;

use super::{StreamLayer, StreamService};
use crate::doubles::{self, TestPort, TestServer, object, settle, text};

mod attack;
mod cancelling;
mod gaps;
mod pacing;
mod races;
mod reading;
mod streaming;

/// A call that goes on in a task, as a connection runs it.
struct Running {
    stream: StreamId,
    task: JoinHandle<Result<Response, Error>>,
}

/// Starts the call and lets it run until it waits.
async fn start(service: &mut StreamService<TestServer>, request: Request) -> Running {
    let stream = request.context.outbox.stream();
    let task = tokio::spawn(service.call(request));
    settle().await;
    Running { stream, task }
}

/// Returns a session with these extensions.
fn session(extensions: &[&str]) -> Arc<Session> {
    Arc::new(doubles::session(Revision::LATEST, extensions))
}

/// Returns a call of a tool that wants chunks, in a session that has them.
fn streamed_call(port: &Arc<TestPort>) -> Request {
    call(port, &["streaming"], r#"{"name":"think","_mgp":{"stream":true}}"#)
}

fn call(port: &Arc<TestPort>, extensions: &[&str], params: &str) -> Request {
    let mut request = Request::call(Method::TOOLS_CALL, object(params));
    request.context.session = Some(session(extensions));
    request.context.outbox = port.outbox();
    request
}

/// Returns a message about the call on `stream`, in a session that has streaming.
fn about(stream: StreamId, mut request: Request) -> Request {
    request.context.session = Some(session(&["streaming"]));
    request.context.outbox = Outbox::on(stream);
    request
}

fn chunk(content: &str) -> Request {
    let text = text(&RawJson::from_value(content).unwrap());
    let params = format!(r#"{{"content":{{"type":"text","text":{text}}}}}"#);
    Request::notify(Method::STREAM_CHUNK, object(&params))
}

fn answered(answer: &Response) -> String {
    text(&answer.to_raw())
}

async fn cancel(service: &mut StreamService<TestServer>, stream: StreamId) -> Response {
    let request = Request::call("mgp/stream/cancel", object(r#"{"reason":"user_cancelled"}"#));
    service.call(about(stream, request)).await.unwrap()
}

async fn tell(service: &mut StreamService<TestServer>, stream: StreamId, method: &str, params: &str) {
    let answer = service.call(about(stream, Request::notify(method, object(params)))).await.unwrap();
    assert_eq!(answer.result.as_bytes(), b"{}");
}

fn layered<F>(work: impl Fn(Request) -> F + Send + Sync + 'static) -> (StreamLayer, StreamService<TestServer>)
where
    F: Future<Output = Result<Response, Error>> + Send + 'static,
{
    let layer = StreamLayer::new();
    let service = layer.layer(doubles::server(work));
    (layer, service)
}

/// A value that tells when it is dropped.
struct Dropped(Arc<std::sync::atomic::AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
