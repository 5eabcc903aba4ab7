//! Questions and notifications to the client, in both eras.

use std::sync::Arc;
use std::time::Duration;

use crate::peer::{Answers, Era, Peer, Raw};
use mgp_server_sdk::mcp::{CreateMessageParams, LogLevel, Role, SamplingMessage};
use mgp_server_sdk::{Ask, Cx, Server, Tool, ToolError};
use serde_json::json;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

fn question() -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::new(Role::User, "Hello")], 10)
}

fn server() -> Server {
    Server::new("test", "1")
        .tool(Tool::new("name", "Asks for a name."), async |cx: Cx| -> Result<String, ToolError> {
            Ok(cx.elicit::<Name>("name", "Who?").await?.accepted().map(|form| form.name).unwrap_or_default())
        })
        .tool(Tool::new("all", "Asks three things."), async |cx: Cx| -> Result<String, ToolError> {
            let (name, sampled, roots) = cx
                .ask_all((
                    Ask::elicit::<Name>("name", "Who?"),
                    Ask::sample("model", question()),
                    Ask::roots("roots"),
                ))
                .await?;
            let name = name.accepted().map(|form| form.name).unwrap_or_default();
            Ok(format!("{name} {} {}", sampled.model, roots.len()))
        })
        .tool(Tool::new("log", "Logs."), async |cx: Cx| {
            cx.log(LogLevel::Debug, None, "quiet").await;
            cx.log(LogLevel::Error, Some("test"), json!({"loud": true})).await;
        })
        .tool(Tool::new("progress", "Tells progress."), async |cx: Cx| {
            for (progress, total) in [(1.0, None), (1.0, None), (0.5, None), (2.5, Some(4.0))] {
                cx.progress(progress, total, Some("on it")).await;
            }
        })
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_an_error() {
    for era in Era::BOTH {
        let answers: Answers = Arc::new(|_, _| json!({"action": "accept", "content": {"name": 7}}));
        let mut peer = Peer::with(server(), era, json!({"elicitation": {}}), answers).await;
        assert_eq!(peer.tool("name", json!({})).await.unwrap_err().code(), -32602);
    }
}

// covers: BASE-28
#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_is_taken_back_and_a_late_answer_ignored() {
    let mut raw = Raw::of(server());
    raw.hello("2025-11-25", &json!({"elicitation": {}})).await;
    raw.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"name","arguments":{}}}"#;
    let question = raw.ask(call).await;
    assert_eq!(question["method"], "elicitation/create");
    tokio::time::sleep(Duration::from_mins(10)).await;
    let (one, other) = (raw.read().await, raw.read().await);
    let (cancelled, answer) = if one["method"].is_null() { (other, one) } else { (one, other) };
    assert_eq!(cancelled["method"], "notifications/cancelled", "{cancelled}");
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
    assert_eq!(answer["id"], 2, "{answer}");
    assert!(answer.to_string().contains("did not answer the question in time"), "{answer}");
    let late = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    raw.write(&late.to_string()).await;
    let next = raw.ask(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#).await;
    assert_eq!(next, json!({"jsonrpc": "2.0", "id": 3, "result": {}}), "nothing came of the late answer");
}

#[tokio::test]
async fn all_questions_are_asked_in_one_round_2026() {
    let mut peer = Peer::open(server(), Era::Stateless).await;
    let asked = peer.send("tools/call", json!({"name": "all"})).await.unwrap();
    let keys: Vec<_> = asked["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 3, "{keys:?}");
}

#[tokio::test]
async fn logs_are_sent_to_whoever_asked_in_the_request_2026() {
    let mut peer = Peer::open(server(), Era::Stateless).await;
    peer.tool("log", json!({})).await.unwrap();
    peer.told_nothing().await;
    let meta = json!({"io.modelcontextprotocol/logLevel": "debug"});
    peer.call("tools/call", json!({"name": "log", "_meta": meta})).await.unwrap();
    assert_eq!(peer.next_notification().await.1["data"], "quiet");
    assert_eq!(peer.next_notification().await.1["data"], json!({"loud": true}));
}

#[tokio::test]
async fn progress_grows_and_is_told_to_whoever_wants_it() {
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        peer.tool("progress", json!({})).await.unwrap();
        peer.told_nothing().await;
        let params = json!({"name": "progress", "_meta": {"progressToken": "t"}});
        peer.call("tools/call", params).await.unwrap();
        let (method, first) = peer.next_notification().await;
        assert_eq!(method, "notifications/progress");
        assert_eq!(first, json!({"progressToken": "t", "progress": 1, "message": "on it"}));
        let (_, second) = peer.next_notification().await;
        assert_eq!(second, json!({"progressToken": "t", "progress": 2.5, "total": 4, "message": "on it"}));
        peer.told_nothing().await;
    }
}
