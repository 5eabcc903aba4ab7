//! A server that is started again has its permissions before anybody calls it.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, RestartSettings};
use mgp_security::Clock;
use mgp_security::audit::{AuditLog, LogStore};
use mgp_security::permission::{GrantBook, GrantTerms, PermissionGate, PermissionSettings};
use mgp_security::sqlite::Database;
use mgp_transport::era::EraMode;
use mgp_transport::{ConnectionLimits, connect, memory};
use mgp_types::mgp::{ApprovalPolicy, ExtensionSet, Offer, Permission};
use mgp_types::{Origin, Request};
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::AbortHandle;
use tower_service::Service;

use crate::holding;
use crate::kernel::server_id;
use crate::upstream::Reached;

// covers: MGP-11.2-07, MGP-11.2-08
#[tokio::test]
async fn permissions_are_granted_again_before_the_server_counts_as_connected() {
    let reached = Reached::default();
    let settings = PermissionSettings::new(ApprovalPolicy::ConfigOnly)
        .with_grant(Permission::NetworkOutbound, GrantTerms::default())
        .unwrap();
    let log = AuditLog::open(LogStore::in_memory().unwrap()).unwrap();
    let book = GrantBook::open(Database::in_memory().unwrap(), Arc::new(log.clone()), Clock::system())
        .await
        .unwrap();
    let gate = PermissionGate::new(server_id(), settings, book);
    let running = Arc::new(Mutex::new(None::<AbortHandle>));
    let (connecting, restoring, seen) = (running.clone(), gate.clone(), reached.clone());
    let server = Client::supervise(server_id(), move || {
        let (near, far) = memory::pair(1 << 16);
        let (_, connection) = connect(far.0, far.1, &holding::server(&seen), ConnectionLimits::default());
        *connecting.lock() = Some(tokio::spawn(connection).abort_handle());
        let offer = Offer::new(ExtensionSet::standard());
        Client::builder("kernel", "1.0.0").era(EraMode::Session).mgp(offer).connect_io(near.0, near.1)
    })
    .with_restarts(serde_json::from_value::<RestartSettings>(json!({"backoff_base_ms": 1})).unwrap())
    .with_restore(move |client| {
        let gate = restoring.clone();
        async move {
            let session = client.session().expect("the client is connected");
            gate.negotiate(&mut client.get_ref().clone(), &session).await.map(drop)
        }
    })
    .with_audit(Arc::new(log))
    .spawn();
    server.start();
    for _ in 0..3 {
        let client = server.ready(Duration::from_secs(10)).await.unwrap();
        let told: Vec<_> = reached.take().into_iter().map(|(method, _)| method).collect();
        assert!(told.contains(&"mgp/permission/response".to_owned()), "{told:?}");
        // The server itself holds the tool to what it was told.
        client.call_tool("fetch", json!({"url": "https://example.com/"})).await.unwrap();
        let mut stack = client.get_ref().clone();
        running.lock().take().unwrap().abort();
        let lost = stack.call(Request::call("ping", mgp_types::Params::new())).await.unwrap_err();
        assert_eq!(lost.origin(), Origin::Connection);
        let mut refused = server.current();
        while refused.is_ok() {
            tokio::task::yield_now().await;
            refused = server.current();
        }
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), 2002);
        assert!(refused.recovery().unwrap().retry_after_ms.is_some());
    }
}
