use std::sync::atomic::{AtomicU32, Ordering};

use mgp_types::{Error, code};

use super::*;
use crate::audit::{
    AuditLog, AuditLogSettings, Durability, Filter, GAP, KERNEL_LOST, LogStore, PRUNED, Query, Retention,
};
use crate::doubles::{database, fill};

fn counting() -> (TestServer, Arc<AtomicU32>) {
    let calls = Arc::<AtomicU32>::default();
    let counted = Arc::clone(&calls);
    let inner = TestServer::answering(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(Response::empty())
    });
    (inner, calls)
}

/// Returns a store that has room for so many events.
fn with_room_for(events: u32) -> LogStore {
    let database = database();
    let store = LogStore::new(database.clone()).unwrap();
    fill(&database, "audit_events", &format!("(SELECT count(*) FROM audit_events) >= {events}"));
    store
}

#[tokio::test]
async fn a_log_known_to_be_broken_refuses_calls_before_they_are_carried_out() {
    let (inner, calls) = counting();
    let (mut service, kept) = over(inner);
    kept.shut_with(Error::new(code::RESOURCE_EXHAUSTED, "full"));
    for method in ["tools/call", "resources/read", "prompts/get"] {
        let error = service.call(request(method, r#"{"name":"x"}"#)).await.unwrap_err();
        assert_eq!(error.code(), code::RESOURCE_EXHAUSTED);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    service.call(request("tools/list", "{}")).await.unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1, "what is not recorded goes on");
}

#[tokio::test]
async fn an_answer_that_cannot_be_recorded_is_withheld() {
    let (inner, calls) = counting();
    let (mut service, kept) = over(inner);
    kept.fail_with(Error::internal("the database /var/lib/x is broken"));
    let error = service.call(call()).await.unwrap_err();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert!(error.message().contains("withheld"), "{error}");
    assert!(!error.message().contains("/var"), "{error}");
}

#[tokio::test]
async fn a_full_log_fails_closed_says_so_and_recovers() {
    let (inner, calls) = counting();
    let log = AuditLog::open(with_room_for(3)).unwrap();
    let mut service = AuditLayer::new(Arc::new(log.clone())).layer(inner);
    for _ in 0..3 {
        service.call(call()).await.unwrap();
    }
    let error = service.call(call()).await.unwrap_err();
    assert_eq!(error.code(), code::RESOURCE_EXHAUSTED);
    assert!(error.message().contains("withheld"));
    assert_eq!(calls.load(Ordering::Relaxed), 4);
    let error = service.call(call()).await.unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (
            3001,
            "the record cannot be kept: no room is left on the disk of its folder, which `mgp status` shows"
        )
    );
    assert_eq!(calls.load(Ordering::Relaxed), 4, "the next is not carried out at all");
    log.retain(Retention::SizeBased(0)).await.unwrap();
    log.flush().await.unwrap();
    service.call(call()).await.unwrap();
    let events = log.reader().query(&Query::new(Filter::default())).unwrap();
    let gap = events
        .iter()
        .map(|entry| entry.to_event().unwrap())
        .find(|event| name_and_outcome(event).0 == GAP)
        .unwrap();
    assert_eq!(gap.details.bytes("unrecorded_events").unwrap(), b"1");
    assert_eq!(gap.details.bytes("refused_calls").unwrap(), b"1");
    log.reader().verify(&[]).unwrap();
}

#[tokio::test]
async fn what_was_taken_without_a_promise_is_written_when_there_is_room_again() {
    let log = AuditLog::open(with_room_for(4)).unwrap().with_durability(Durability::Async);
    let (inner, calls) = counting();
    let mut service = AuditLayer::new(Arc::new(log.clone())).layer(inner);
    for _ in 0..5 {
        service.call(call()).await.unwrap();
        let _ = log.flush().await;
    }
    service.call(call()).await.unwrap_err();
    assert_eq!((calls.load(Ordering::Relaxed), log.head().seq), (5, 4));
    log.retain(Retention::SizeBased(0)).await.unwrap();
    log.flush().await.unwrap();
    let events = log.reader().query(&Query::new(Filter::default())).unwrap();
    let events: Vec<_> = events.iter().rev().map(|entry| entry.to_event().unwrap()).collect();
    let names: Vec<_> = events.iter().map(|event| name_and_outcome(event).0).collect();
    assert_eq!(names, [PRUNED, GAP, "TOOL_EXECUTED"]);
    assert_eq!(events[1].details.bytes("unrecorded_events").unwrap(), b"0");
    service.call(call()).await.unwrap();
}

#[tokio::test]
async fn a_cancelled_call_reaches_the_log() {
    let log = AuditLog::open(LogStore::new(database()).unwrap()).unwrap();
    let mut service = AuditLayer::new(Arc::new(log.clone()))
        .layer(TestServer::working(|_| Box::pin(std::future::pending())));
    drop(service.call(call()));
    log.flush().await.unwrap();
    let event = log.reader().query(&Query::new(Filter::default())).unwrap()[0].to_event().unwrap();
    assert_eq!(event.result, Outcome::Failure);
    assert!(event.details.contains("cancelled"));
}

/// A server that answers no call.
#[derive(Clone)]
struct Silent;

impl Service<Request> for Silent {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Pending<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        std::future::pending()
    }
}

#[tokio::test]
async fn a_call_is_noted_before_it_is_carried_out_and_told_if_the_process_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let open_calls = Some(folder.path().join("calls"));
        let settings = AuditLogSettings { open_calls, ..AuditLogSettings::default() };
        AuditLog::with_settings(LogStore::new(database()).unwrap(), settings).unwrap()
    };
    let lost_events = async |log: &AuditLog| {
        log.flush().await.unwrap();
        let found = log.reader().query(&Query::new(Filter::default())).unwrap();
        let events = found.iter().map(|entry| entry.to_event().unwrap());
        events.filter(|event| event.event_type.as_str() == KERNEL_LOST).collect::<Vec<_>>()
    };
    let log = open();
    assert_eq!(lost_events(&log).await, [], "there was none before");
    let (inner, _) = counting();
    AuditLayer::new(Arc::new(log.clone())).layer(inner).call(call()).await.unwrap();
    log.flush().await.unwrap();
    // The process is lost with these calls in work: nothing of it runs any more.
    for _ in 0..2 {
        std::mem::forget(AuditLayer::new(Arc::new(log.clone())).layer(Silent).call(call()));
    }
    let next = open();
    let lost = lost_events(&next).await;
    let calls: Vec<serde_json::Value> = lost[0].details.get("calls_in_work").unwrap().to().unwrap();
    assert_eq!((lost.len(), calls.len()), (1, 2));
    assert_eq!((&calls[0]["name"], &calls[0]["agent"]), (&"execute_command".into(), &"anonymous".into()));
    next.end().await.unwrap();
    assert_eq!(lost_events(&open()).await, [], "the one before ended in order");
}
