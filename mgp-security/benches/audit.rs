//! What the audit trail costs: on the path of a call, sustained, and when a large log is opened.

#![expect(clippy::print_stdout, reason = "the figures are what this is for")]

use std::future::{Ready, ready};
use std::path::Path;
use std::task::{Context, Poll};

use divan::{AllocProfiler, Bencher};
use mgp_security::audit::{AuditLayer, AuditLog, AuditLogSettings, Durability, Filter, LogStore, Query};
use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditPort, AuditTarget, EventType, Outcome, Timestamp, TraceId,
};
use mgp_types::{Error, Object, Principal, Request, Response};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    sustained();
    before_reply();
    large_log();
    divan::main();
}

/// A tool that does nothing.
#[derive(Clone)]
struct Tool;

impl Service<Request> for Tool {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        ready(Ok(Response::empty()))
    }
}

fn request() -> Request {
    let params = r#"{"name":"execute_command","arguments":{"command":"ls"},"trace_id":"550e8400-e29b-41d4-a716-446655440000"}"#;
    let mut request = Request::call("tools/call", Object::parse(params).expect("an object"));
    request.context.principal = Some(Principal::new("agent.cloto_default"));
    request
}

fn log(path: &Path, durability: Durability) -> AuditLog {
    let store = LogStore::open(path).expect("a new database");
    let log =
        AuditLog::with_settings(store, AuditLogSettings { capacity: 200_000, ..AuditLogSettings::default() })
            .expect("an empty log");
    log.with_durability(durability)
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).build().expect("a runtime")
}

#[divan::bench(sample_size = 1_000, sample_count = 50)]
fn call_without(bencher: Bencher<'_, '_>) {
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    bencher.with_inputs(request).bench_local_values(|request| runtime.block_on(Tool.call(request)));
}

#[divan::bench(sample_size = 1_000, sample_count = 50)]
fn call_recorded_async(bencher: Bencher<'_, '_>) {
    let directory = tempfile::tempdir().expect("a directory");
    let log = log(&directory.path().join("audit.db"), Durability::Async);
    let mut service =
        AuditLayer::new(std::sync::Arc::new(log)).for_server("tool.terminal".into()).layer(Tool);
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    bencher.with_inputs(request).bench_local_values(|request| runtime.block_on(service.call(request)));
}

fn sustained() {
    const EVENTS: u32 = 300_000;
    let directory = tempfile::tempdir().expect("a directory");
    let store = LogStore::open(&directory.path().join("audit.db")).expect("a new database");
    let log = AuditLog::open(store).expect("an empty log").with_durability(Durability::Async);
    let mut service =
        AuditLayer::new(std::sync::Arc::new(log.clone())).for_server("tool.terminal".into()).layer(Tool);
    let started = Instant::now();
    runtime().block_on(async {
        for _ in 0..EVENTS {
            service.call(request()).await.expect("an answer");
        }
        log.flush().await.expect("room on the disk");
    });
    let rate = f64::from(EVENTS) / started.elapsed().as_secs_f64();
    println!("async, sustained: {rate:.0} events/s (at least 50,000)");
}

fn before_reply() {
    const OUTSTANDING: u32 = 64;
    const CALLS: u32 = 400;
    let directory = tempfile::tempdir().expect("a directory");
    let log = log(&directory.path().join("audit.db"), Durability::BeforeReply);
    let service = AuditLayer::new(std::sync::Arc::new(log)).for_server("tool.terminal".into()).layer(Tool);
    let started = Instant::now();
    runtime().block_on(async {
        let callers: Vec<_> = (0..OUTSTANDING)
            .map(|_| {
                let mut service = service.clone();
                tokio::spawn(async move {
                    for _ in 0..CALLS {
                        service.call(request()).await.expect("an answer");
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.expect("no panic");
        }
    });
    let rate = f64::from(OUTSTANDING * CALLS) / started.elapsed().as_secs_f64();
    println!("before_reply, {OUTSTANDING} outstanding: {rate:.0} calls/s (at least 5,000)");
}

fn large_log() {
    const EVENTS: u64 = 1_000_000;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("audit.db");
    let log_of_many = log(&path, Durability::Async);
    runtime().block_on(async {
        for batch in 0..EVENTS / 1_000 {
            let events = (0..1_000).map(|number| event(batch * 1_000 + number)).collect();
            log_of_many.record_all(events).await.expect("room");
        }
    });
    drop(log_of_many);
    let started = Instant::now();
    let log = log(&path, Durability::Async);
    let opened = started.elapsed();
    assert_eq!(log.head().seq, EVENTS);
    println!("open of {EVENTS} events: {opened:.2?} (at most 200 ms)");

    let reader = log.reader();
    let timed = |what: &str, ask: &dyn Fn()| {
        let started = Instant::now();
        ask();
        println!("{what} in {EVENTS} events: {:.2?}", started.elapsed());
    };
    timed("the last fifty", &|| drop(reader.query(&Query::new(Filter::default()))));
    timed("one trace", &|| {
        let mut filter = Filter::default();
        filter.trace_id = TraceId::from_u128(1);
        assert_eq!(reader.query(&Query::new(filter)).expect("a log").len(), 1);
    });
    timed("verifying all", &|| assert!(reader.verify(&[]).is_ok()));
}

fn event(number: u64) -> AuditEvent {
    AuditEvent::new(
        Timestamp::now(),
        TraceId::from_u128(u128::from(number) + 1).expect("not zero"),
        EventType::ToolExecuted,
        Actor::new(ActorType::Agent, format!("agent.{}", number % 10)),
        AuditTarget::new(Some("tool.terminal".into()), Some("execute_command".into())),
        Outcome::Success,
    )
    .with_detail("risk_level", "dangerous")
    .with_detail("duration_ms", &number)
}
