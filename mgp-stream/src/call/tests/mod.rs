use std::sync::Arc;

use mgp_types::{Error, Request, Response, StreamId};
use tokio::task::JoinHandle;
use tower_layer::Layer;
use tower_service::Service;

use super::doubles::{Server, about, object};
use super::{Stream, StreamLayer};

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
async fn start(service: &mut Stream<Server>, request: Request) -> Running {
    let stream = request.context.outbox.stream();
    let task = tokio::spawn(service.call(request));
    settle().await;
    Running { stream, task }
}

/// Lets all tasks run until they wait.
async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

async fn cancel(service: &mut Stream<Server>, stream: StreamId) -> Response {
    let request = Request::call("mgp/stream/cancel", object(r#"{"reason":"user_cancelled"}"#));
    service.call(about(stream, request)).await.unwrap()
}

async fn tell(service: &mut Stream<Server>, stream: StreamId, method: &str, params: &str) {
    let answer = service.call(about(stream, Request::notify(method, object(params)))).await.unwrap();
    assert_eq!(answer.result.as_bytes(), b"{}");
}

fn layered<F>(work: impl Fn(Request) -> F + Send + Sync + 'static) -> (StreamLayer, Stream<Server>)
where
    F: Future<Output = Result<Response, Error>> + Send + 'static,
{
    let layer = StreamLayer::new();
    let service = layer.layer(Server::new(work));
    (layer, service)
}

/// Tells when it is dropped.
struct Dropped(Arc<std::sync::atomic::AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
