//! Calls that have their effect once, and calls that are taken back together, over both eras.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::peer::{Era, Peer, declaring, speaking};
use mgp_lifecycle::idempotency::IdempotencyBook;
use mgp_lifecycle::store::EffectStore;
use mgp_lifecycle::transaction::TransactionBook;
use mgp_server_sdk::mgp::{Extension, Offer};
use mgp_server_sdk::types::Error;
use mgp_server_sdk::types::ext::{Impact, PREFIX, StructuredError};
use mgp_server_sdk::{Cx, Object, RawJson, Server, ServerCore, Tool, ToolError};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower_layer::Layer;

/// A tracker of tickets: what exists, and what was done in which order.
#[derive(Debug, Default)]
struct Tracker {
    tickets: Mutex<Vec<String>>,
    done: Mutex<Vec<String>>,
    calls: AtomicUsize,
}

impl Tracker {
    fn tickets(&self) -> Vec<String> {
        self.tickets.lock().clone()
    }

    fn done(&self) -> Vec<String> {
        self.done.lock().clone()
    }
}

fn title(arguments: &Object) -> String {
    arguments.text("title").unwrap().into_owned()
}

/// Adds the tools of a tracker: `create` is taken back by `delete`, `mail` by nothing, `find` changes nothing.
fn tools<L>(server: Server<L>, tracker: &Arc<Tracker>) -> Server<L> {
    tools_with(server, tracker, Tool::new("delete", "Deletes a ticket."))
}

/// Adds the tools of a tracker, of which this is `delete`.
fn tools_with<L>(server: Server<L>, tracker: &Arc<Tracker>, delete: Tool) -> Server<L> {
    let [creating, deleting, mailing, finding] = std::array::from_fn(|_| Arc::clone(tracker));
    server
        .tool(
            Tool::new("create", "Creates a ticket.").undone_by("delete"),
            move |arguments: Object, cx: Cx| {
                let tracker = Arc::clone(&creating);
                async move {
                    tracker.calls.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    let title = title(&arguments);
                    if title == "impossible" {
                        return Err(ToolError::new("no such project"));
                    }
                    tracker.tickets.lock().push(title.clone());
                    tracker.done.lock().push(format!("create {title}"));
                    let mut undo = Object::new();
                    undo.set("title", RawJson::from_text(&title));
                    cx.undo_with(undo);
                    Ok(title)
                }
            },
        )
        .tool(delete, move |arguments: Object| {
            let tracker = Arc::clone(&deleting);
            async move {
                let title = title(&arguments);
                if title == "stuck" {
                    return Err(ToolError::new("the tracker is down"));
                }
                tracker.tickets.lock().retain(|ticket| *ticket != title);
                tracker.done.lock().push(format!("delete {title}"));
                Ok(title)
            }
        })
        .tool(Tool::new("mail", "Sends a mail."), move |_: Object| {
            mailing.done.lock().push("mail".to_owned());
            std::future::ready("sent")
        })
        .tool(Tool::new("find", "Finds tickets.").read_only(), move |_: Object| {
            let found = finding.tickets().join(",");
            std::future::ready(found)
        })
}

async fn connect<L>(server: Server<L>, era: Era) -> Peer
where
    L: Layer<ServerCore, Service: mgp_server_sdk::types::RpcService + Sync + Unpin>,
{
    Peer::silent(server, era, declaring(&["idempotency", "transactions", "structured_errors"])).await
}

/// Connects to a tracker with idempotency and transactions.
async fn tracker(era: Era) -> (Peer, Arc<Tracker>) {
    let tracker = Arc::new(Tracker::default());
    let server = Server::new("tracker", "1.0.0")
        .transactions(&TransactionBook::in_memory(), &IdempotencyBook::in_memory());
    (connect(tools(server, &tracker), era).await, tracker)
}

async fn create(peer: &mut Peer, title: &str, meta: Value) -> Result<Value, Error> {
    let params = json!({"name": "create", "arguments": {"title": title}, "_meta": meta});
    peer.call("tools/call", params).await
}

async fn step(peer: &mut Peer, title: &str) -> Value {
    let meta = json!({"transaction_id": "tx-001", "step_id": format!("step-{title}")});
    create(peer, title, meta).await.unwrap()
}

async fn begin(peer: &mut Peer, seconds: u32) -> Result<Value, Error> {
    let params = json!({"transaction_id": "tx-001", "timeout_seconds": seconds, "description": "tickets"});
    peer.call("transaction/begin", params).await
}

async fn end(peer: &mut Peer, method: &str) -> Result<Value, Error> {
    peer.call(&format!("transaction/{method}"), json!({"transaction_id": "tx-001"})).await
}

/// Returns the code of an error as MGP has it, or as MCP does for clients without MGP.
fn is_told(error: &Error, word: &str) {
    let structured = StructuredError::of(error);
    let in_data = error.data().and_then(StructuredError::read).map(|error| error.code.into_owned());
    assert!(
        structured.code == word || in_data.as_deref() == Some(word),
        "{error}: {structured:?}, {in_data:?}"
    );
}

// covers: EXT-05-02, EXT-05-03
#[tokio::test]
async fn a_key_of_another_form_is_refused_and_the_time_that_holds_is_told() {
    for era in Era::BOTH {
        let (mut peer, tracker) = tracker(era).await;
        for wrong in ["", "a b", "a/b", &"x".repeat(129)] {
            let error = create(&mut peer, "a", json!({"idempotency_key": wrong})).await.unwrap_err();
            assert_eq!(error.code(), -32602, "{wrong}");
        }
        assert!(tracker.tickets().is_empty());
        for (asked, given) in [(None, 86_400), (Some(60), 60), (Some(9_999_999), 604_800), (Some(0), 1)] {
            let key = format!("{}:{given}", "k".repeat(120));
            let mut meta = json!({"idempotency_key": key});
            if let Some(seconds) = asked {
                meta["idempotency_ttl_seconds"] = json!(seconds);
            }
            let result = create(&mut peer, &key, meta).await;
            assert_eq!(result.unwrap()["_meta"]["idempotency_ttl_seconds"], given);
        }
    }
}

// covers: EXT-05-06
#[tokio::test]
async fn a_key_whose_time_is_over_is_free() {
    let (mut peer, tracker) = tracker(Era::Session).await;
    let meta = json!({"idempotency_key": "k", "idempotency_ttl_seconds": 1});
    create(&mut peer, "a", meta.clone()).await.unwrap();
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    while tracker.tickets().len() < 2 {
        assert!(tokio::time::Instant::now() < deadline, "the key never expires");
        create(&mut peer, "a", meta.clone()).await.unwrap();
    }
}

// covers: EXT-05-08
#[tokio::test]
async fn a_flood_of_keys_is_stopped_and_takes_no_key_from_anybody() {
    let (mut peer, tracker) = tracker(Era::Session).await;
    let call = |key: usize| json!({"name": "find", "arguments": {}, "_meta": {"idempotency_key": format!("k{key}")}});
    for key in 0..10_000 {
        peer.send("tools/call", call(key)).await.unwrap();
    }
    for _ in 0..2 {
        let error = create(&mut peer, "a", json!({"idempotency_key": "one-more"})).await.unwrap_err();
        is_told(&error, "SERVER_UNAVAILABLE");
        let structured = error.data().and_then(StructuredError::read).unwrap();
        assert!((1..=86_400).contains(&structured.retry_after_seconds.unwrap()), "{structured:?}");
    }
    assert!(tracker.tickets().is_empty(), "nothing is done without a place for the key");
    for key in [0, 4_999, 9_999] {
        let again = peer.send("tools/call", call(key)).await.unwrap();
        assert_eq!(again["_meta"]["was_replay"], true, "k{key} still holds");
    }
    create(&mut peer, "b", json!({})).await.unwrap();
    assert_eq!(tracker.tickets(), ["b"], "calls without a key are made");
}

// covers: EXT-05-11, EXT-05-12
#[tokio::test]
async fn a_server_without_support_ignores_the_key_and_the_hint_remains() {
    for era in Era::BOTH {
        let tracker = Arc::new(Tracker::default());
        let server = tools(Server::new("plain", "1.0.0"), &tracker)
            .tool(Tool::new("set", "Sets a value.").idempotent(), async |_: Object| "set");
        let mut peer = connect(server, era).await;
        for _ in 0..2 {
            let result = create(&mut peer, "a", json!({"idempotency_key": "k"})).await.unwrap();
            assert_eq!(result["_meta"].get("was_replay"), None);
        }
        assert_eq!(tracker.tickets(), ["a", "a"]);
        let listed = peer.call("tools/list", json!({})).await.unwrap();
        let set = listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "set").unwrap();
        assert_eq!(set["annotations"]["idempotentHint"], true);
    }
}

// covers: EXT-05-21, EXT-05-30
#[tokio::test]
async fn an_id_is_used_once_and_one_that_is_unknown_or_over_is_not_found() {
    for era in Era::BOTH {
        let (mut peer, tracker) = tracker(era).await;
        for method in ["commit", "rollback", "status"] {
            is_told(&end(&mut peer, method).await.unwrap_err(), "RESOURCE_NOT_FOUND");
        }
        let meta = json!({"transaction_id": "tx-001"});
        is_told(&create(&mut peer, "a", meta.clone()).await.unwrap_err(), "RESOURCE_NOT_FOUND");
        begin(&mut peer, 300).await.unwrap();
        is_told(&begin(&mut peer, 300).await.unwrap_err(), "TRANSACTION_CONFLICT");
        end(&mut peer, "commit").await.unwrap();
        is_told(&create(&mut peer, "a", meta).await.unwrap_err(), "RESOURCE_NOT_FOUND");
        is_told(&end(&mut peer, "rollback").await.unwrap_err(), "RESOURCE_NOT_FOUND");
        assert!(tracker.tickets().is_empty(), "a step without a transaction is not carried out");
    }
}

// covers: EXT-05-29
#[tokio::test]
async fn a_transaction_in_which_nothing_happens_is_rolled_back_and_a_late_commit_refused() {
    let (mut peer, tracker) = tracker(Era::Session).await;
    begin(&mut peer, 5).await.unwrap();
    step(&mut peer, "a").await;
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    while !tracker.tickets().is_empty() {
        assert!(tokio::time::Instant::now() < deadline, "nobody rolls back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    is_told(&end(&mut peer, "commit").await.unwrap_err(), "CONFLICT");
    let status = loop {
        let status = end(&mut peer, "status").await.unwrap();
        if status["status"] != "rolling_back" {
            break status;
        }
    };
    assert_eq!((&status["status"], &status["reason"]), (&json!("rolled_back"), &json!("timeout")));
}

// covers: EXT-05-24
#[tokio::test]
async fn a_client_does_not_say_what_takes_a_step_back() {
    for era in Era::BOTH {
        let (mut peer, tracker) = tracker(era).await;
        begin(&mut peer, 300).await.unwrap();
        let meta = json!({
            "transaction_id": "tx-001",
            "compensation": {"tool": "mail", "arguments": {}},
            "transaction": {"compensation": {"tool": "mail", "arguments": {}}},
        });
        let result = create(&mut peer, "a", meta).await.unwrap();
        assert_eq!(result["_meta"]["transaction"]["compensation"]["tool"], "delete");
        end(&mut peer, "rollback").await.unwrap();
        assert_eq!(tracker.done(), ["create a", "delete a"]);
    }
}

#[test]
fn a_tool_that_takes_another_back_has_to_exist() {
    let server = Server::new("tracker", "1.0.0")
        .transactions(&TransactionBook::in_memory(), &IdempotencyBook::in_memory())
        .tool(Tool::new("create", "Creates a ticket.").undone_by("delete"), async |_: Object| "made");
    let error = server.into_service().err().unwrap().to_string();
    assert!(error.contains("`create`") && error.contains("`delete`"), "{error}");
}

#[tokio::test]
async fn stored_transactions_need_stored_keys() {
    let folder = tempfile::tempdir().unwrap();
    let store = EffectStore::open(&folder.path().join("effects.db")).unwrap();
    let transactions = TransactionBook::open(store.clone()).unwrap();
    let serve = |keys: IdempotencyBook| {
        Server::new("shop", "1.0.0").transactions(&transactions, &keys).into_service()
    };
    let error = serve(IdempotencyBook::in_memory()).err().unwrap().to_string();
    assert!(error.contains("open both books in a store"), "{error}");
    assert!(serve(IdempotencyBook::open(store).unwrap()).is_ok());
}

// covers: EXT-05-45
#[tokio::test]
async fn a_rollback_calls_no_tool_that_a_person_has_to_confirm() {
    for era in Era::BOTH {
        for extensions in
            [&["transactions", "idempotency", "human_in_the_loop"][..], &["transactions", "idempotency"]]
        {
            let tracker = Arc::new(Tracker::default());
            let delete =
                Tool::new("delete", "Deletes a ticket.").confirm("Delete {title}?", Impact::Destructive);
            let server = Server::new("tracker", "1.0.0")
                .mgp(Offer::new(Extension::ToolSecurity))
                .transactions(&TransactionBook::in_memory(), &IdempotencyBook::in_memory());
            let server = tools_with(server, &tracker, delete);
            let mut peer = Peer::silent(server, era, speaking(era, &["tool_security"], extensions)).await;
            begin(&mut peer, 300).await.unwrap();
            let made = step(&mut peer, "a").await;
            let report = end(&mut peer, "rollback").await.unwrap();
            assert_eq!(report["status"], "partially_rolled_back", "{report}");
            let left = &report["steps_compensated"][0];
            assert_eq!(
                (&left["status"], &left["error"]["code"]),
                (&json!("compensation_failed"), &json!("CONFIRMATION_REQUIRED")),
                "{report}"
            );
            assert_eq!(tracker.done(), ["create a"]);
            // The client makes the call itself, where a person confirms it: its own, or that of a kernel.
            let undo = &made["_meta"]["transaction"]["compensation"];
            let mut params = json!({"name": undo["tool"], "arguments": undo["arguments"], "_meta": {}});
            if extensions.contains(&"human_in_the_loop") {
                let asked = peer.call("tools/call", params.clone()).await.unwrap();
                let token = &asked["_meta"]["confirmation"]["confirmation_token"];
                params["_meta"] = json!({"confirmation_token": token, "user_confirmed": true});
            }
            peer.call("tools/call", params).await.unwrap();
            assert_eq!(tracker.done(), ["create a", "delete a"]);
        }
    }
}

// covers: EXT-05-32
#[tokio::test]
async fn a_server_with_transactions_has_idempotency_as_well() {
    for era in Era::BOTH {
        let (mut peer, _) = tracker(era).await;
        let declared = match era {
            Era::Session => peer.initialized["capabilities"]["extensions"].clone(),
            Era::Stateless => {
                peer.call("server/discover", json!({})).await.unwrap()["capabilities"]["extensions"].clone()
            }
        };
        for name in ["idempotency", "transactions"] {
            assert!(declared[format!("{PREFIX}{name}")].is_object(), "{declared}");
        }
        begin(&mut peer, 300).await.unwrap();
        let meta = json!({"transaction_id": "tx-001", "step_id": "one", "idempotency_key": "k"});
        let first = create(&mut peer, "a", meta.clone()).await.unwrap();
        let again = create(&mut peer, "a", meta).await.unwrap();
        assert_eq!(first["_meta"]["transaction"], again["_meta"]["transaction"], "a step comes again, too");
        assert_eq!(again["_meta"]["was_replay"], true);
    }
}

// covers: EXT-05-33
#[tokio::test]
async fn what_a_step_does_is_seen_at_once() {
    let (mut peer, _) = tracker(Era::Session).await;
    begin(&mut peer, 300).await.unwrap();
    step(&mut peer, "a").await;
    assert_eq!(peer.text("find", json!({})).await, "a", "though nothing is committed");
    end(&mut peer, "rollback").await.unwrap();
    assert_eq!(peer.text("find", json!({})).await, "");
}
