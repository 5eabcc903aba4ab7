//! Calls that have their effect once, through a kernel.

use std::sync::Arc;

use futures_util::future::join_all;
use mgp_lifecycle::idempotency::IdempotencyBook;
use mgp_server_sdk::{Object, RawJson, Server, ServerCore, Tool};
use mgp_types::{Revision, RpcService};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower_layer::Layer;

use crate::approval::dangerous;
use crate::host::{Host, Served, ask, claude, quiet, with_person};
use crate::runner::tests;
use crate::scripted::Script;
use crate::sections::raw::{ERAS, Raw};

tests![
    a_call_with_a_key_is_made_once_for_a_server_that_knows_no_keys,
    calls_with_one_key_that_come_at_once_are_made_once,
    a_key_means_nothing_in_the_name_of_another_agent,
    a_call_that_comes_again_asks_nobody_again_and_is_judged_again,
    a_key_is_told_to_a_server_that_knows_keys_as_one_of_its_agent,
    without_effects_keys_pass_as_they_are_and_transactions_are_refused,
];

/// The optional extensions of clients.
pub(crate) const EFFECTS: &[&str] = &["idempotency", "transactions", "provenance"];

/// A configuration with these servers, in which the kernel takes care of effects.
pub(crate) fn with_effects(servers: impl IntoIterator<Item = Value>) -> Value {
    let mut config = quiet(servers);
    config["effects"] = json!({"enabled": true});
    config
}

/// A call of a tool with this metadata.
#[expect(clippy::needless_pass_by_value, reason = "both are written where the call is")]
pub(crate) fn call(name: &str, arguments: Value, meta: Value) -> Value {
    json!({"name": name, "arguments": arguments, "_meta": meta})
}

fn keyed(name: &str, arguments: Value, key: &str) -> Value {
    call(name, arguments, json!({"idempotency_key": key}))
}

/// What a result says of its key.
fn meta_of(answer: &Value) -> &Value {
    &answer["result"]["_meta"]
}

// covers: EXT-05-01, EXT-05-04, EXT-05-05, EXT-05-07, EXT-05-09
async fn a_call_with_a_key_is_made_once_for_a_server_that_knows_no_keys() {
    let script = Script::named(&["pay"]);
    let host = Host::ready_with(with_effects([script.server("bank")])).await;
    for (number, revision) in ERAS.into_iter().enumerate() {
        let mut ada = Raw::declaring(&host, "ada", revision, EFFECTS).await;
        let key = format!("order-{number}");
        let pay = |euro: &str| keyed("bank__pay", json!({"a": euro}), &key);
        let first = ada.call("tools/call", pay("5")).await;
        let again = ada.call("tools/call", pay("5")).await;
        assert_eq!(meta_of(&first)["was_replay"], false, "{first}");
        assert_eq!(meta_of(&again)["was_replay"], true, "{again}");
        for member in ["idempotency_key", "original_timestamp", "idempotency_ttl_seconds"] {
            assert!(!meta_of(&first)[member].is_null(), "{first}");
            assert_eq!(meta_of(&first)[member], meta_of(&again)[member], "{again}");
        }
        assert_eq!(meta_of(&first)["idempotency_key"], key.as_str());
        assert_eq!(first["result"]["content"], again["result"]["content"]);
        let other = ada.call("tools/call", pay("6")).await.to_string();
        assert!(other.contains("stands for a call with other arguments"), "{other}");
        assert_eq!(script.calls().len(), number + 1, "{:?}", script.calls());
    }
    // What the server knows nothing of it is not told.
    let calls: Vec<_> = script.asked().into_iter().filter(|frame| frame["method"] == "tools/call").collect();
    assert!(calls.iter().all(|frame| !frame.to_string().contains("idempotency")), "{calls:#?}");
    let replays = host.recorded(json!({"event_types": ["CALL_REPLAYED"]})).await;
    let results: Vec<_> = replays.iter().map(|event| event["result"].clone()).collect();
    assert_eq!(results, ["SUCCESS", "FAILURE", "SUCCESS", "FAILURE"], "{replays:#?}");
}

// covers: EXT-05-10
async fn calls_with_one_key_that_come_at_once_are_made_once() {
    let script = Script::named(&["pay"]);
    let host = Host::ready_with(with_effects([script.server("bank")])).await;
    let calls = (0..8).map(|_| async {
        let mut ada = Raw::declaring(&host, "ada", Revision::V2025_11_25, EFFECTS).await;
        ada.call("tools/call", keyed("bank__pay", json!({"a": "5"}), "order-7")).await
    });
    let answers = join_all(calls).await;
    let replays = answers.iter().filter(|answer| meta_of(answer)["was_replay"] == true).count();
    assert_eq!(replays, 7, "{answers:#?}");
    assert!(answers.iter().all(|answer| answer["result"]["content"] == answers[0]["result"]["content"]));
    assert_eq!(script.calls().len(), 1);
}

async fn a_key_means_nothing_in_the_name_of_another_agent() {
    let (bank, shop) = (Script::named(&["pay", "refund"]), Script::named(&["pay"]));
    let host = Host::ready_with(with_effects([bank.server("bank"), shop.server("shop")])).await;
    for (agent, tool) in
        [("ada", "bank__pay"), ("bob", "bank__pay"), ("ada", "bank__refund"), ("ada", "shop__pay")]
    {
        let mut client = Raw::declaring(&host, agent, Revision::V2025_11_25, EFFECTS).await;
        let mine = json!({"a": format!("{agent} {tool}")});
        let answer = client.call("tools/call", keyed(tool, mine.clone(), "order-7")).await;
        assert_eq!(meta_of(&answer)["was_replay"], false, "{agent} {tool}: {answer}");
        assert_eq!(answer["result"]["content"][0]["text"], mine.to_string());
    }
    assert_eq!((bank.calls().len(), shop.calls().len()), (3, 1));
}

async fn a_call_that_comes_again_asks_nobody_again_and_is_judged_again() {
    let script = Script::named(&["transfer"]);
    let mut config = dangerous(script.server("bank"));
    config["effects"] = json!({"enabled": true});
    let host = Host::ready_with(config).await;
    let asked = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&asked);
    let builder = with_person(claude(ERAS[0]), move |_| {
        *counted.lock() += 1;
        // The first time they say no.
        json!({"decision": if *counted.lock() == 1 { "deny" } else { "approve" }})
    });
    let ada = host.connect("ada", builder).await;
    let transfer = async || {
        let call = ada.call_tool("bank.transfer", json!({"a": "10"}));
        let result = call.meta("idempotency_key", RawJson::from_text("order-7")).await;
        result.is_ok_and(|result| !result.is_error())
    };
    assert!(!transfer().await, "a person said no");
    assert!(transfer().await, "a call that was not confirmed takes no key");
    assert!(transfer().await);
    assert_eq!((*asked.lock(), script.calls().len()), (2, 1));
    let operator = host.operator().await;
    let denied = json!({
        "entry_type": "tool_grant", "agent_id": "ada", "server_id": "bank", "tool_name": "transfer", "permission": "deny",
    });
    ask(&operator, "mgp/access/grant", denied).await;
    assert!(!transfer().await, "who may not make the call is told nothing of it");
    assert_eq!((*asked.lock(), script.calls().len()), (2, 1));
}

/// A server that knows keys, and counts its payments.
fn bank(
    paid: &Arc<Mutex<Vec<String>>>,
) -> Server<impl Layer<ServerCore, Service: RpcService<Future: 'static> + Sync + Unpin + 'static> + use<>> {
    let paid = Arc::clone(paid);
    let pay = move |arguments: Object| {
        let mut paid = paid.lock();
        paid.push(arguments.text("to").unwrap_or_default().into_owned());
        let said = format!("payment {}", paid.len());
        async move { said }
    };
    Server::new("bank", "1.0.0")
        .idempotency(&IdempotencyBook::in_memory())
        .tool(Tool::new("pay", "Pays."), pay)
}

async fn a_key_is_told_to_a_server_that_knows_keys_as_one_of_its_agent() {
    let paid = Arc::default();
    let served = Served::start("bank", bank(&paid)).await;
    let host = Host::ready_with(with_effects([served.config.clone()])).await;
    for (number, agent) in ["ada", "bob"].into_iter().enumerate() {
        let mut client = Raw::declaring(&host, agent, Revision::V2025_11_25, EFFECTS).await;
        for is_again in [false, true] {
            let pay = keyed("bank__pay", json!({"to": "eve"}), "order-7");
            let answer = client.call("tools/call", pay).await;
            assert_eq!(meta_of(&answer)["was_replay"], is_again, "{agent}: {answer}");
            assert_eq!(meta_of(&answer)["idempotency_key"], "order-7", "{answer}");
            assert_eq!(answer["result"]["content"][0]["text"], format!("payment {}", number + 1));
        }
    }
    assert_eq!(paid.lock().len(), 2);
}

async fn without_effects_keys_pass_as_they_are_and_transactions_are_refused() {
    let script = Script::named(&["pay"]);
    let host = Host::ready_with(quiet([script.server("bank")])).await;
    for revision in ERAS {
        let before = script.calls().len();
        let mut ada = Raw::declaring(&host, "ada", revision, EFFECTS).await;
        for _ in 0..2 {
            let meta = json!({"idempotency_key": "order-7", "transaction_id": "tx-1"});
            let answer = ada.call("tools/call", call("bank__pay", json!({"a": "5"}), meta)).await;
            assert!(meta_of(&answer)["was_replay"].is_null(), "{answer}");
        }
        assert_eq!(script.calls().len(), before + 2);
        let error = ada.error("transaction/begin", json!({"transaction_id": "tx-1"})).await;
        assert_eq!(error["code"], -32601, "{error}");
        assert!(error["message"].as_str().unwrap().contains("[effects]"), "{error}");
        assert!(!ada.opened.to_string().contains("transactions"), "{}", ada.opened);
    }
    let passed: Vec<_> = script.asked().into_iter().filter(|frame| frame["method"] == "tools/call").collect();
    assert!(passed.iter().all(|frame| {
        let meta = &frame["params"]["_meta"];
        meta["idempotency_key"] == "order-7" && meta["transaction_id"] == "tx-1"
    }));
}
