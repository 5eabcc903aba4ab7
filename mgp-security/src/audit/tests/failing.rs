use std::sync::atomic::{AtomicU32, Ordering};

use mgp_types::{Error, code};

use super::*;
use crate::audit::{AuditLog, AuditLogSettings, Filter, KERNEL_LOST, LogStore, Query};
use crate::doubles::database;

fn counting() -> (TestServer, Arc<AtomicU32>) {
    let calls = Arc::<AtomicU32>::default();
    let counted = Arc::clone(&calls);
    let inner = TestServer::answering(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(Response::empty())
    });
    (inner, calls)
}

/// Returns a server that answers no call.
fn silent() -> TestServer {
    TestServer::working(|_| Box::pin(std::future::pending()))
}

#[tokio::test]
async fn a_log_known_to_be_broken_refuses_calls_before_they_are_carried_out() {
    let (inner, calls) = counting();
    let (mut service, kept) = over(inner);
    *kept.shut.lock() = Some(Error::new(code::RESOURCE_EXHAUSTED, "full"));
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
    *kept.fault.lock() = Some(Error::internal("the database /var/lib/x is broken"));
    let error = service.call(call()).await.unwrap_err();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert!(error.message().contains("withheld"), "{error}");
    assert!(!error.message().contains("/var"), "{error}");
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
        std::mem::forget(AuditLayer::new(Arc::new(log.clone())).layer(silent()).call(call()));
    }
    let next = open();
    let lost = lost_events(&next).await;
    let calls: Vec<serde_json::Value> = lost[0].details.get("calls_in_work").unwrap().to().unwrap();
    assert_eq!((lost.len(), calls.len()), (1, 2));
    assert_eq!((&calls[0]["name"], &calls[0]["agent"]), (&"execute_command".into(), &"anonymous".into()));
    next.end().await.unwrap();
    assert_eq!(lost_events(&open()).await, [], "the one before ended in order");
}
