//! Many calls of tools in one request.

use std::sync::Arc;

use crate::peer::{Era, Peer, declaring};
use mgp_server_sdk::schemars::{self, JsonSchema};
use mgp_server_sdk::types::ext::ToolDeclaration;
use mgp_server_sdk::types::{Error, Flow, Gate, Request, RequestKind, RpcService, code};
use mgp_server_sdk::{Cx, Json, Object, Server, ServerCore, Tool, ToolError};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower_layer::Layer;

const METHOD: &str = "mgp/tools/batch";

#[derive(Deserialize, JsonSchema)]
struct Terms {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// A gate that notes every call, and refuses calls of the tool `closed`.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<String>>>);

impl Gate for Record {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let tool = request.params.text("name").unwrap_or_default().into_owned();
        if request.kind == RequestKind::Call {
            self.0.lock().push(format!("{} {tool}", request.method));
        }
        if tool == "closed" {
            return Flow::refuse(Error::new(code::ACCESS_DENIED, "it is closed"));
        }
        Flow::Pass(())
    }
}

/// A server with a record in front, which sees calls and never a batch.
fn server() -> (Server<impl Layer<ServerCore, Service = impl RpcService + Sync + Unpin>>, Record) {
    let record = Record::default();
    let add = Tool::new("add", "Adds two numbers.")
        .declare(ToolDeclaration { supports_batch: true, ..ToolDeclaration::default() });
    let server = Server::new("calc", "1")
        .layer(record.clone().into_layer())
        .tool(add, async |terms: Terms| Json(Sum { sum: terms.a + terms.b }))
        .tool(Tool::new("fail", "Fails."), async || Err::<String, _>(ToolError::new("the disk is full")))
        .tool(Tool::new("panic", "Panics."), async || if true { panic!("broken") } else { "never" })
        .tool(Tool::new("closed", "Is closed."), async || "open")
        .tool(Tool::new("who", "Says for whom."), async |cx: Cx| {
            cx.meta("tenant").and_then(|tenant| tenant.to_text()).unwrap_or_default()
        })
        .batch_calls();
    (server, record)
}

async fn client(era: Era, extensions: &[&str]) -> (Peer, Record) {
    let (server, record) = server();
    let peer = Peer::silent(server, era, declaring(extensions)).await;
    record.0.lock().clear();
    (peer, record)
}

fn add(a: i64, b: i64) -> Value {
    json!({"name": "add", "arguments": {"a": a, "b": b}})
}

fn called(name: &str) -> Value {
    json!({"name": name, "arguments": {}})
}

// covers: ENV-10-06, EXT-01-08
#[tokio::test]
async fn results_come_in_order_and_one_failure_stops_no_other() {
    for era in Era::BOTH {
        let (mut peer, record) = client(era, &["structured_errors"]).await;
        let calls = [
            add(1, 2),
            called("fail"),
            called("panic"),
            called("none"),
            called("closed"),
            json!(7),
            json!({"name": "add", "arguments": {"a": "x", "b": 1}}),
            add(3, 4),
        ];
        let answer = peer.call(METHOD, json!({"calls": calls})).await.unwrap();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), calls.len());
        assert_eq!(results[0]["structuredContent"], json!({"sum": 3}));
        assert_eq!(
            (&results[1]["isError"], &results[1]["content"][0]["text"]),
            (&json!(true), &json!("the disk is full"))
        );
        assert_eq!(results[2]["error"]["code"], code::INTERNAL_ERROR);
        assert!(results[3]["error"]["message"].as_str().unwrap().contains("unknown tool"));
        // An error looks as it does where the call comes alone.
        let alone = peer.call("tools/call", called("closed")).await.unwrap_err();
        assert_eq!(results[4]["error"]["code"], alone.code());
        let data: Value = alone.data().unwrap().to().unwrap();
        assert_eq!(results[4]["error"]["data"], data);
        assert_eq!(results[5]["error"]["code"], code::INVALID_PARAMS);
        assert_eq!(results[6]["isError"], true);
        assert_eq!(results[7]["structuredContent"], json!({"sum": 7}));
        let seen = record.0.lock().clone();
        let names = ["add", "fail", "panic", "none", "closed", "add", "add", "closed"];
        assert_eq!(
            seen,
            names.map(|name| format!("tools/call {name}")),
            "each call passes the gates by itself"
        );
        let tools = peer.call("tools/list", json!({})).await.unwrap();
        assert_eq!(tools["tools"][0]["supports_batch"], true);
        assert_eq!(tools["tools"][1].get("supports_batch"), None);
    }
}

// covers: ENV-10-06
#[tokio::test]
async fn a_batch_that_says_so_ends_with_its_first_failure() {
    for era in Era::BOTH {
        for failing in ["fail", "panic", "none", "closed"] {
            let (mut peer, record) = client(era, &[]).await;
            let calls = [add(1, 2), called(failing), add(3, 4)];
            let params = json!({"calls": calls, "stop_on_error": true});
            let answer = peer.call(METHOD, params).await.unwrap();
            assert_eq!(answer["results"].as_array().unwrap().len(), 2, "{failing}");
            assert_eq!(record.0.lock().len(), 2, "{failing}");
        }
    }
}

#[tokio::test]
async fn each_call_brings_metadata_of_its_own() {
    let (mut peer, _) = client(Era::Stateless, &[]).await;
    let who = |tenant: &str| json!({"name": "who", "arguments": {}, "_meta": {"tenant": tenant}});
    let calls = [who("one"), who("two"), called("who")];
    let answer = peer.call(METHOD, json!({"calls": calls, "_meta": {"tenant": "all"}})).await.unwrap();
    let texts: Vec<_> = (0..3).map(|at| &answer["results"][at]["content"][0]["text"]).collect();
    assert_eq!(texts, ["one", "two", ""]);
}

#[tokio::test]
async fn a_batch_is_bounded_and_of_calls_alone() {
    let (mut peer, record) = client(Era::Session, &[]).await;
    let refused = [
        json!({"calls": vec![add(1, 1); 51]}),
        json!({"calls": {}}),
        json!({}),
        json!({"calls": [add(1, 1)], "stop_on_error": "yes"}),
    ];
    for params in refused {
        let error = peer.call(METHOD, params).await.unwrap_err();
        assert_eq!(error.code(), code::INVALID_PARAMS);
    }
    assert!(record.0.lock().is_empty());
    let full = peer.call(METHOD, json!({"calls": vec![add(1, 1); 50]})).await.unwrap();
    assert_eq!(full["results"].as_array().unwrap().len(), 50);
    assert_eq!(peer.call(METHOD, json!({"calls": []})).await.unwrap()["results"], json!([]));

    let plain = Server::new("test", "1").tool(Tool::new("add", "Adds."), async |_: Object| "x");
    let mut peer = Peer::open(plain, Era::Session).await;
    assert_eq!(peer.call(METHOD, json!({"calls": []})).await.unwrap_err().code(), code::METHOD_NOT_FOUND);
}
