use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};
use mgp_types::{BoxFuture, Error, Outbox, OutboxPort, Revision, Session, StreamId};

use parking_lot::Mutex;

use super::*;
use crate::audit::{AuditLog, Filter, LogStore, Query};
use crate::doubles::database;

#[derive(Default)]
struct Peer(Mutex<Vec<Request>>);

impl OutboxPort for Peer {
    fn notify(&self, _: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        self.0.lock().push(notification);
        Box::pin(async { Ok(()) })
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(async { Err(Error::invalid_request("not here")) })
    }
}

fn session(extensions: &[&str]) -> (Session, Arc<Peer>) {
    let peer = Arc::<Peer>::default();
    let mut session = Session::new(Revision::LATEST_SESSION);
    let offer = Offer::new(ExtensionSet::from_names(extensions));
    session.mgp = Negotiated::agree(&offer, &offer);
    session.outbox = Outbox::new(Arc::clone(&peer) as _, StreamId::STANDALONE);
    (session, peer)
}

// covers: MGP-6.3-02, MGP-6.3-11
#[tokio::test]
async fn events_go_to_a_server_that_negotiated_audit_in_order_and_with_their_numbers() {
    let log = AuditLog::open(LogStore::new(database()).unwrap()).unwrap();
    let mut service =
        AuditLayer::new(log.clone()).for_server("s".into()).layer(TestServer::with_result("{}"));
    service.call(call()).await.unwrap();
    let (session, peer) = session(&["audit"]);
    let mut subscription = log.subscribe(0);
    for _ in 0..300 {
        service.call(call()).await.unwrap();
    }
    drop((service, log));
    subscription.forward(&session).await.unwrap();
    let sent = peer.0.lock();
    assert_eq!(sent.len(), 301);
    for (index, notification) in sent.iter().enumerate() {
        assert_eq!(notification.method.as_str(), "notifications/mgp.audit");
        let number = format!(r#"{{"seq":{}}}"#, index + 1);
        assert_eq!(notification.params.bytes("_mgp").unwrap(), number.as_bytes());
        assert_eq!(notification.params.to::<AuditEvent>().unwrap().event_type, EventType::ToolExecuted);
    }
    assert_eq!(subscription.position(), 301);
}

#[tokio::test]
async fn a_server_without_audit_is_told_nothing() {
    let log = AuditLog::open(LogStore::new(database()).unwrap()).unwrap();
    AuditLayer::new(log.clone()).layer(TestServer::with_result("{}")).call(call()).await.unwrap();
    let (session, peer) = session(&["security"]);
    assert!(log.subscribe(0).forward(&session).await.is_err());
    assert!(peer.0.lock().is_empty());
}

// covers: MGP-6.3-12
#[tokio::test]
async fn without_an_audit_server_events_are_kept_here() {
    let log = AuditLog::open(LogStore::new(database()).unwrap()).unwrap();
    AuditLayer::new(log.clone()).layer(TestServer::with_result("{}")).call(call()).await.unwrap();
    let kept = log.reader().query(&Query::new(Filter::default())).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].to_event().unwrap().event_type, EventType::ToolExecuted);
}

#[tokio::test]
async fn a_subscriber_that_comes_back_misses_nothing() {
    let log = AuditLog::open(LogStore::new(database()).unwrap()).unwrap();
    let mut service = AuditLayer::new(log.clone()).layer(TestServer::with_result("{}"));
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
