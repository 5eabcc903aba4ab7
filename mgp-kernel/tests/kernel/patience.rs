//! How long people may take, and what does not wait for them.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::Revision;
use mgp_types::mcp::ElicitResult;
use mgp_types::mgp::ShutdownReason;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::host::{Host, claude, quiet, refused, say, until};
use crate::runner::tests;
use crate::scripted::{Script, defined};
use crate::talking;

tests![
    the_time_in_which_a_human_is_asked_is_not_held_against_the_server,
    a_kernel_that_stops_does_not_wait_for_clients_that_are_away,
    two_hundred_calls_at_once_wait_in_line_and_all_are_answered,
    a_call_for_which_no_place_is_in_line_may_come_again_and_says_which_key_decides,
    a_call_and_what_is_tried_again_of_it_have_the_configured_time_together,
];

async fn the_time_in_which_a_human_is_asked_is_not_held_against_the_server() {
    let mut server = talking::server("paint");
    server["limits"] = json!({"timeout_ms": 400});
    let host = Host::ready([server]).await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let builder = claude(revision).on_elicitation(|_, _| async {
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
    let host = Host::ready_with(config).await;
    let asked = Arc::new(Notify::new());
    let asking = Arc::clone(&asked);
    let builder = claude(Revision::V2026_07_28).on_elicitation(move |_, _| {
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

async fn two_hundred_calls_at_once_wait_in_line_and_all_are_answered() {
    let mut narrow = talking::server("narrow");
    narrow["limits"] = json!({"concurrency": 2});
    let host = Host::start([talking::server("usual"), narrow]).await;
    for server in ["usual", "narrow"] {
        host.up(server).await;
        let clients = [host.client("ada").await, host.plain("bob").await];
        let tool = format!("{server}.count");
        let calls = (0..200).map(|number| say(&clients[number % 2], &tool, json!({"to": 2})));
        let answers = futures_util::future::join_all(calls).await;
        assert!(answers.iter().all(|answer| answer == "2"), "{answers:?}");
    }
}

async fn a_call_for_which_no_place_is_in_line_may_come_again_and_says_which_key_decides() {
    let script = Script::named(&["wait"]);
    let mut server = script.server("files");
    server["limits"] = json!({"concurrency": 1});
    server["sharing"] = json!("shared");
    let mut config = quiet([server]);
    config["limits"] = json!({"waiting_calls": 0});
    let host = Host::ready_with(config).await;
    let (ada, bob) = (host.client("ada").await, host.plain("bob").await);
    let call = ada.call_tool("files.wait", json!({})).into_future();
    let call = tokio::spawn(call);
    until("a call is in work", || (!script.calls().is_empty()).then_some(())).await;
    let error = ada.call_tool("files.wait", json!({})).await.unwrap_err();
    let recovery = error.recovery().unwrap();
    assert_eq!((error.code(), recovery.retryable), (3001, Some(true)), "{error:?}");
    assert!(recovery.retry_after_ms.is_some(), "{recovery:?}");
    let outcome = bob.call_tool("files.wait", json!({})).await;
    for said in [error.message().to_owned(), refused(outcome)] {
        assert!(
            said.contains("calls of files")
                && said.contains("waiting_calls")
                && said.contains("[servers.limits]"),
            "{said}"
        );
    }
    call.abort();
}

async fn a_call_and_what_is_tried_again_of_it_have_the_configured_time_together() {
    let harmless = json!({"readOnlyHint": true, "idempotentHint": true, "destructiveHint": false});
    let script = Script::of([defined("wait", &[], &json!({"annotations": harmless}))]);
    let mut server = script.server("files");
    server["limits"] = json!({"timeout_ms": 500});
    let host = Host::ready([server]).await;
    let error = host.client("ada").await.call_tool("files.wait", json!({})).await.unwrap_err();
    assert_eq!(error.code(), 3003, "{error:?}");
    assert_eq!(script.calls().len(), 1, "there is no time left for another attempt");
}
