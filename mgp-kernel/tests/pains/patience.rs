//! How long people may take, and what does not wait for them.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_types::Revision;
use mgp_types::mcp::ElicitResult;
use mgp_types::mgp::ShutdownReason;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::host::{Host, quiet, say};
use crate::runner::tests;
use crate::scripted::Script;
use crate::talking;

tests![
    the_time_in_which_a_human_is_asked_is_not_held_against_the_server,
    a_kernel_that_stops_does_not_wait_for_clients_that_are_away,
];

async fn the_time_in_which_a_human_is_asked_is_not_held_against_the_server() {
    let mut server = talking::server("paint");
    server["limits"] = json!({"timeout_ms": 400});
    let host = Host::start([server]).await;
    host.up("paint").await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let builder = Client::builder("tests", "1.0.0").revisions([revision]).on_elicitation(|_, _| async {
            // Longer than all attempts together.
            tokio::time::sleep(Duration::from_millis(1500)).await;
            let answer = json!({"action": "accept", "content": {"colour": "red"}});
            serde_json::from_value::<ElicitResult>(answer).unwrap()
        });
        let client = host.connect("one", builder).await;
        assert_eq!(say(&client, "paint.colour", json!({})).await, "red", "{revision:?}");
    }
}

async fn a_kernel_that_stops_does_not_wait_for_clients_that_are_away() {
    let script = Script::named(&["transfer"]);
    let mut server = script.server("bank");
    server["security"] = json!({"risk_at_least": "dangerous"});
    let mut config = quiet([server]);
    config["confirmation"] = json!({"dangerous": true});
    config["agents"] = json!([{"id": "ada", "human": true}]);
    let host = Host::with(config).await;
    host.up("bank").await;
    let asked = Arc::new(Notify::new());
    let asking = Arc::clone(&asked);
    let builder =
        Client::builder("tests", "1.0.0").revisions([Revision::V2026_07_28]).on_elicitation(move |_, _| {
            asking.notify_one();
            std::future::pending::<ElicitResult>()
        });
    let client = host.connect("ada", builder).await;
    let call = client.call_tool("bank.transfer", json!({"a": "10 to bob"})).into_future();
    let call = tokio::spawn(call);
    asked.notified().await;
    let began = Instant::now();
    host.kernel.shutdown(ShutdownReason::KernelShutdown, Duration::from_mins(1)).await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    call.abort();
    assert!(script.calls().is_empty());
}
