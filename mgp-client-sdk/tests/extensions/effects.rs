//! Calls that have their effect once, and transactions, as a client makes them.

use std::sync::Arc;

use mgp_client_sdk::mcp::CallToolResult;
use mgp_client_sdk::types::code;
use mgp_client_sdk::types::ext::transaction::{
    BeginTransaction, CompensationStatus, RollbackTransaction, StepResult, TransactionState, TransactionStep,
};
use mgp_client_sdk::types::ext::{IdempotencyKey, IdempotentCall, IdempotentResult, TransactionId};
use mgp_client_sdk::{Client, EraMode, Object, RawJson, RpcService, json};
use mgp_lifecycle::idempotency::IdempotencyBook;
use mgp_lifecycle::transaction::TransactionBook;
use mgp_server_sdk::{Cx, Server, Tool, ToolError};
use parking_lot::Mutex;

use crate::servers::{MODES, connect};

/// What a server did, in order.
type Done = Arc<Mutex<Vec<String>>>;

/// Connects to a server whose tickets can be taken back.
async fn tracker(mode: EraMode) -> (Client<impl RpcService>, Done) {
    let done = Done::default();
    let title = |arguments: &Object| arguments.text("title").unwrap_or_default().into_owned();
    let [created, deleted] = [done.clone(), done.clone()];
    let create = move |arguments: Object, cx: Cx| {
        let title = title(&arguments);
        created.lock().push(format!("create {title}"));
        cx.undo_with(Object::from([("title", RawJson::from_text(&title))]));
        async { Ok::<_, ToolError>("created") }
    };
    let delete = move |arguments: Object| {
        deleted.lock().push(format!("delete {}", title(&arguments)));
        async { "deleted" }
    };
    let server = Server::new("tracker", "1.0.0")
        .transactions(&TransactionBook::in_memory(), &IdempotencyBook::in_memory())
        .tool(Tool::new("create", "Creates a ticket.").undone_by("delete"), create)
        .tool(Tool::new("delete", "Deletes a ticket."), delete);
    (connect(server, Client::builder("tester", "1.0.0").sagas(), mode).await, done)
}

fn meta(result: &CallToolResult) -> Object {
    Object::from_value(result.meta.as_ref().unwrap()).unwrap()
}

// covers: EXT-05-01, EXT-05-02
#[tokio::test]
async fn a_client_gives_a_call_a_key_and_the_repeated_call_has_no_further_effect() {
    for wrong in ["", " ", "a/b", &"x".repeat(129)] {
        assert!(wrong.parse::<IdempotencyKey>().is_err(), "{wrong:?}");
    }
    for mode in MODES {
        let (client, done) = tracker(mode).await;
        for key in [IdempotencyKey::unique("new ticket"), "x".repeat(128).parse().unwrap()] {
            let before = done.lock().len();
            let keyed = IdempotentCall::new(key.clone());
            for was_replay in [false, true] {
                let call = client.call_tool("create", json!({"title": "a"})).idempotent(&keyed);
                let word = IdempotentResult::read(&meta(&call.await.unwrap())).unwrap();
                assert_eq!((word.idempotency_key, word.was_replay), (key.clone(), was_replay));
            }
            let other = client.call_tool("create", json!({"title": "b"})).idempotent(&keyed);
            assert!(other.await.unwrap_err().message().contains("other arguments"));
            assert_eq!(done.lock().len(), before + 1, "two calls have one effect");
        }
    }
}

// covers: EXT-05-20, EXT-05-22, EXT-05-25
#[tokio::test]
async fn a_client_begins_a_transaction_makes_its_steps_and_ends_it() {
    for mode in MODES {
        let (client, done) = tracker(mode).await;
        let id = |name: &str| name.parse::<TransactionId>().unwrap();
        let step = async |transaction: &str, step: Option<&str>, title: &str| {
            let place = TransactionStep {
                transaction_id: id(transaction),
                step_id: step.map(|step| step.parse().unwrap()),
            };
            let call = client.call_tool("create", json!({"title": title})).in_transaction(&place);
            StepResult::read(&meta(&call.await.unwrap())).unwrap().unwrap()
        };
        let begun = client.begin_transaction(&BeginTransaction::new(id("kept"))).await.unwrap();
        assert_eq!((&*begun.status, begun.transaction_id.as_str()), ("begun", "kept"));
        let named = step("kept", Some("first"), "a").await;
        assert_eq!((named.transaction_id.as_str(), named.step_id.as_str()), ("kept", "first"));
        assert_eq!(&*named.compensation.unwrap().tool, "delete");
        step("kept", None, "b").await;
        let committed = client.commit_transaction(&id("kept")).await.unwrap();
        assert_eq!((committed.status, committed.steps_completed), (TransactionState::Committed, 2));

        client.begin_transaction(&BeginTransaction::new(id("undone"))).await.unwrap();
        for title in ["c", "d"] {
            step("undone", None, title).await;
        }
        let report = client.roll_back_transaction(&RollbackTransaction::new(id("undone"))).await.unwrap();
        assert_eq!(report.status, Some(TransactionState::RolledBack));
        let taken_back = report.steps_compensated.iter();
        assert!(taken_back.clone().all(|step| step.status == CompensationStatus::Compensated));
        assert_eq!(taken_back.len(), 2);
        let status = client.transaction_status(&id("undone")).await.unwrap();
        assert_eq!(status.status, Some(TransactionState::RolledBack));
        assert_eq!(*done.lock(), ["create a", "create b", "create c", "create d", "delete d", "delete c"]);
        let late = client.commit_transaction(&id("undone")).await.unwrap_err();
        assert_ne!(late.code(), code::METHOD_NOT_FOUND, "{late}");
    }
}
