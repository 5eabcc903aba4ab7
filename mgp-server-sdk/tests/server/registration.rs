//! The registry of tools while the server runs, and services that stand in for it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::peer::{Era, Peer};
use mgp_server_sdk::{
    FieldType, InputField, Json, Object, OutputField, Server, ServerHandle, Signature, Tool, schemars,
};
use serde_json::{Value, json};

const WRITERS: usize = 4;
const TOOLS: usize = 24;

// covers: GGEN-2-07, GGEN-9-01
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tools_are_registered_listed_and_called_at_the_same_time() {
    let server = Server::new("test", "1").dynamic().tool(Tool::new("first", "First."), async || "first");
    let handle = server.handle();
    let mut peer = Peer::open(server, Era::Stateless).await;
    let start = Arc::new(tokio::sync::Barrier::new(WRITERS + 1));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (handle, start) = (handle.clone(), start.clone());
            tokio::spawn(async move {
                start.wait().await;
                let register = |number| {
                    let tool = Tool::new(format!("tool{number}"), "One of many.");
                    handle.register_tool(tool, move || async move { number }).is_ok()
                };
                (0..TOOLS).filter(|number| register(*number)).count()
            })
        })
        .collect();
    start.wait().await;
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        assert_eq!(peer.text("first", json!({})).await, "first");
        let names = names(&peer.call("tools/list", json!({})).await.unwrap());
        let different: HashSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "each tool is there once");
        if let Some(last) = names.iter().find(|name| **name != "first") {
            assert_eq!(peer.text(last, json!({})).await, last.trim_start_matches("tool"));
        }
    }
    let mut registered = 0;
    for writer in writers {
        registered += writer.await.unwrap();
    }
    assert_eq!(registered, TOOLS, "each name was taken once");
    assert_eq!(handle.tools().len(), TOOLS + 1);
    let taken = handle.register_tool(Tool::new("tool3", "Another."), async || "other").unwrap_err();
    assert!(taken.to_string().contains("tool `tool3`: it is registered twice"), "{taken}");
    assert_eq!(handle.tool("tool3").unwrap().to::<Value>().unwrap()["description"], "One of many.");
    assert!(handle.tool("tool99").is_none());
    let twice = Server::new("test", "1")
        .tool(Tool::new("a", "A."), async || ())
        .tool(Tool::new("a", "A."), async || ());
    assert!(twice.accept().is_err());
}

fn names(list: &Value) -> Vec<String> {
    let tools = list["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Doubled {
    number: i64,
}

fn doubler() -> Signature {
    let number = |of: &str| (of.to_owned(), FieldType::Integer);
    let (name, kind) = number("number");
    Signature::new("double", "Doubles a number.")
        .input(InputField::new(name.clone(), kind.clone(), "The number"))
        .output(OutputField::new(name, kind, "Twice the number"))
}

/// The demands on every tool of this signature, whatever runs it.
async fn contract(handle: &ServerHandle, peer: &mut Peer) {
    let signature = doubler();
    let listed: Value = handle.tool("double").unwrap().to().unwrap();
    assert_eq!(listed["name"], "double");
    assert_eq!(listed["inputSchema"], signature.to_json_schema().to::<Value>().unwrap());
    assert_eq!(listed["outputSchema"], signature.to_output_schema().unwrap().to::<Value>().unwrap());
    let result = peer.tool("double", json!({"number": 21})).await.unwrap();
    assert_eq!(result["structuredContent"], json!({"number": 42}));
    assert_eq!(peer.tool("double", json!({"number": "21"})).await.unwrap()["isError"], true);
}

// covers: GGEN-2-08
#[tokio::test]
async fn a_double_fulfils_the_contract_of_the_tool() {
    async fn real(Doubled { number }: Doubled) -> Json<Doubled> {
        Json(Doubled { number: 2 * number })
    }
    let double = async |_: Object| Json(Doubled { number: 42 });
    for era in Era::BOTH {
        for is_real in [true, false] {
            let (server, tool) = (Server::new("test", "1"), Tool::from_signature(&doubler()));
            let server = if is_real { server.tool(tool, real) } else { server.tool(tool, double) };
            let handle = server.handle();
            let mut peer = Peer::open(server, era).await;
            contract(&handle, &mut peer).await;
        }
    }
}
