//! The cost of a chunk from the handler that sends it to the caller that takes it: written, named, read, scanned and
//! delivered, with both sides of the connection on one core. The column of allocations belongs to the result, and the
//! items per second are the chunks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use divan::counter::ItemsCount;
use divan::{AllocProfiler, Bencher};
use mgp_transport::{ConnectionLimits, Wire, connect, memory};
use mgp_types::{BoxFuture, Error, Method, Object, Outbox, OutboxPort, RawJson, Request, Response, StreamId};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tower_service::Service;

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Measures one call over memory.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn memory_pair(bencher: Bencher<'_, '_>) {
    Bench::new(|| memory::pair(64 << 10)).run(bencher, 1);
}

/// Measures a thousand calls over memory, whose chunks mix.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn memory_pair_of_1000_calls(bencher: Bencher<'_, '_>) {
    Bench::new(|| memory::pair(64 << 10)).run(bencher, 1000);
}

/// Measures one call over pipes of the system, as a child process has them.
#[cfg(unix)]
#[divan::bench(sample_count = 20, sample_size = 1)]
fn pipes(bencher: Bencher<'_, '_>) {
    use tokio::net::unix::pipe::pipe;
    Bench::new(|| {
        let (one_in, one_out) = pipe().expect("there are pipes");
        let (other_in, other_out) = pipe().expect("there are pipes");
        ((other_out, one_in), (one_out, other_in))
    })
    .run(bencher, 1);
}

struct Bench {
    runtime: Runtime,
    wire: Wire,
}

impl Bench {
    fn new<R, W>(pair: impl FnOnce() -> ((R, W), (R, W))) -> Self
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let runtime = Builder::new_current_thread().enable_all().build().expect("there is memory");
        let wire = runtime.block_on(async {
            let (near, far) = pair();
            let limits = ConnectionLimits::default();
            let (_, server) = connect(far.0, far.1, &|_: Outbox| Streaming, limits.clone());
            let (wire, client) = connect(near.0, near.1, &|_: Outbox| Streaming, limits);
            tokio::spawn(server);
            tokio::spawn(client);
            wire
        });
        Self { runtime, wire }
    }

    /// Makes so many calls at once, which share the chunks.
    fn run(&self, bencher: Bencher<'_, '_>, calls: usize) {
        let reader = Arc::new(Counter::default());
        bencher.counter(ItemsCount::new(CHUNKS)).bench_local(|| {
            reader.0.store(0, Ordering::Relaxed);
            self.runtime.block_on(async {
                let calls: Vec<_> = (0..calls)
                    .map(|_| {
                        let params = Object::parse(format!(r#"{{"chunks":{}}}"#, CHUNKS / calls));
                        let mut request = Request::call("tools/call", params.expect("is an object"));
                        request.context.outbox = Outbox::new(Arc::clone(&reader) as _, StreamId::fresh());
                        tokio::spawn(Service::call(&mut self.wire.clone(), request))
                    })
                    .collect();
                for call in calls {
                    call.await.expect("it does not panic").expect("it is answered");
                }
            });
            assert_eq!(reader.0.load(Ordering::Relaxed), CHUNKS);
        });
    }
}

/// A service that sends as many chunks as the call asks for.
#[derive(Clone)]
struct Streaming;

impl Service<Request> for Streaming {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Box::pin(async move {
            let chunks = request.params.get("chunks").and_then(|chunks| chunks.to::<usize>().ok());
            for index in 0..chunks.unwrap_or_default() {
                let json = format!(
                    r#"{{"index":{index},"content":{{"type":"text","text":"{TEXT}"}},"done":false}}"#
                );
                let params = Object::parse(json).expect("is an object");
                request.context.outbox.notify(Request::notify(Method::STREAM_CHUNK, params)).await?;
            }
            Ok(Response::plain(RawJson::empty_object()))
        })
    }
}

/// An outbox that counts the messages it gets.
#[derive(Default)]
struct Counter(AtomicUsize);

impl OutboxPort for Counter {
    fn notify(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<(), Error>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(()) })
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(async { Err(Error::internal("nobody asks")) })
    }
}

/// The text of a chunk: 32 bytes.
const TEXT: &str = "Quantum computing is a paradigm ";
const CHUNKS: usize = 20_000;
