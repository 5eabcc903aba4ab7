//! The cost of all sections of a sending for a call that is answered at once. The column of allocations is the one to read.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use divan::{AllocProfiler, Bencher};
use mgp_lifecycle::call::{BreakerSettings, RetryPolicy, SendingLayer};
use mgp_types::{BoxFuture, Error, Object, Outbox, OutboxPort, Request, Response, RpcService, StreamId};
use tower_layer::Layer;
use tower_service::Service;

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

#[derive(Clone)]
struct Echo;

impl Service<Request> for Echo {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        black_box(&request);
        std::future::ready(Ok(Response::empty()))
    }
}

struct Nobody;

impl OutboxPort for Nobody {
    fn notify(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(std::future::ready(Ok(Response::empty())))
    }
}

fn call() -> Request {
    let params = Object::parse(r#"{"name":"search","arguments":{"q":"x"}}"#).expect("it is JSON");
    let mut request = Request::call("tools/call", params);
    request.context.outbox = Outbox::new(Arc::new(Nobody), StreamId::fresh());
    request
}

fn stack<S: RpcService>(server: S) -> impl RpcService {
    let sending = SendingLayer::new()
        .deadline(Duration::from_mins(1))
        .retry(RetryPolicy::default())
        .places(NonZeroUsize::MIN.saturating_add(15))
        .breaker(BreakerSettings::default())
        .attempt_timeout(Duration::from_secs(30), Duration::from_secs(30));
    sending.layer(server)
}

fn answered<S: RpcService>(service: &S, request: Request) {
    let mut service = service.clone();
    let mut answer = std::pin::pin!(service.call(request));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(answer.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
}

#[divan::bench(sample_size = 1_000)]
fn bare(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(call).bench_values(|request| answered(&Echo, request));
}

#[divan::bench(sample_size = 1_000)]
fn all_sections(bencher: Bencher<'_, '_>) {
    // No runtime is needed: a call that is answered at once holds no timer.
    let service = stack(Echo);
    bencher.with_inputs(call).bench_values(|request| answered(&service, request));
}
