use super::*;
use crate::audit::{AuditLog, Filter, LogEntry, LogStore, Query};
use crate::doubles::database;

// covers: MGP-6.3-02
#[tokio::test]
async fn events_are_forwarded_in_order_and_with_their_numbers() {
    let log = AuditLog::open(LogStore::new(database()).unwrap()).unwrap();
    let mut service =
        AuditLayer::new(Arc::new(log.clone())).for_server("s".into()).layer(TestServer::with_result("{}"));
    service.call(call()).await.unwrap();
    let mut subscription = log.subscribe(0);
    for _ in 0..300 {
        service.call(call()).await.unwrap();
    }
    drop((service, log));
    let mut sent = Vec::new();
    while let Some(entries) = subscription.next().await.unwrap() {
        sent.extend(entries.iter().map(LogEntry::to_notification));
    }
    assert_eq!(sent.len(), 301);
    for (index, notification) in sent.iter().enumerate() {
        assert_eq!(notification.method.as_str(), "notifications/mgp.audit");
        let number = format!(r#"{{"seq":{}}}"#, index + 1);
        assert_eq!(notification.params.bytes("_mgp").unwrap(), number.as_bytes());
        assert_eq!(notification.params.to::<AuditEvent>().unwrap().event_type, EventType::ToolExecuted);
    }
    assert_eq!(subscription.position(), 301);
}

// covers: MGP-6.3-12
#[tokio::test]
async fn without_an_audit_server_events_are_kept_here() {
    let log = AuditLog::open(LogStore::new(database()).unwrap()).unwrap();
    AuditLayer::new(Arc::new(log.clone())).layer(TestServer::with_result("{}")).call(call()).await.unwrap();
    let kept = log.reader().query(&Query::new(Filter::default())).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].to_event().unwrap().event_type, EventType::ToolExecuted);
}

#[tokio::test]
async fn a_subscriber_that_comes_back_misses_nothing() {
    let log = AuditLog::open(LogStore::new(database()).unwrap()).unwrap();
    let mut service = AuditLayer::new(Arc::new(log.clone())).layer(TestServer::with_result("{}"));
    let mut subscription = log.subscribe(0);
    service.call(call()).await.unwrap();
    assert_eq!(subscription.next().await.unwrap().unwrap()[0].seq, 1);
    let position = subscription.position();
    drop(subscription);
    service.call(call()).await.unwrap();
    let mut subscription = log.subscribe(position);
    let next: Vec<_> = subscription.next().await.unwrap().unwrap().iter().map(|entry| entry.seq).collect();
    assert_eq!(next, [2]);
    let waiting = tokio::spawn(async move { subscription.next().await.unwrap().unwrap()[0].seq });
    service.call(call()).await.unwrap();
    assert_eq!(waiting.await.unwrap(), 3);
}
