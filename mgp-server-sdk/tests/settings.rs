//! The settings of a server, as its clients see them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod peer;

use std::time::Duration;

use mgp_server_sdk::mcp::CacheScope;
use mgp_server_sdk::types::Revision;
use mgp_server_sdk::{Cx, Elicited, SealingKey, Server, Tool, ToolError, VersionMismatch};
use mgp_transport::{ConnectionLimits, connect, memory};
use peer::{Era, Peer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

fn server() -> Server {
    Server::new("test", "1").tool(Tool::new("again", "May be repeated.").idempotent(), async || ())
}

/// Returns the answer of the server to a client of an unknown revision.
async fn greeted(server: Server) -> Value {
    let (near, far) = memory::pair(1 << 16);
    let (_, connection) = connect(far.0, far.1, &server.accept().unwrap(), ConnectionLimits::default());
    tokio::spawn(connection);
    let (reader, mut writer) = near;
    let hello = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01","#,
        r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
        "\n"
    );
    writer.write_all(hello.as_bytes()).await.unwrap();
    let answer = BufReader::new(reader).lines().next_line().await.unwrap().unwrap();
    serde_json::from_str(&answer).unwrap()
}

#[tokio::test]
async fn a_revision_that_is_not_served_is_countered_or_refused() {
    let server = || server().revisions([Revision::V2025_06_18]);
    assert_eq!(greeted(server()).await["result"]["protocolVersion"], "2025-06-18");
    let refused = greeted(server().version_mismatch(VersionMismatch::Refuse)).await;
    assert_eq!(refused["error"]["data"]["supported"], json!(["2025-06-18"]));
}

#[tokio::test]
async fn lists_say_for_how_long_and_by_whom_they_may_be_kept_2026() {
    let server = server().cache_lists(Duration::from_secs(90), CacheScope::Public);
    let list = Peer::open(server, Era::Stateless).await.call("tools/list", json!({})).await.unwrap();
    assert_eq!((&list["ttlMs"], &list["cacheScope"]), (&json!(90_000), &json!("public")));
}

#[tokio::test]
async fn a_tool_that_may_be_called_again_says_so() {
    let mut peer = Peer::open(server(), Era::Session).await;
    let list = peer.call("tools/list", json!({})).await.unwrap();
    assert_eq!(list["tools"][0]["annotations"], json!({"idempotentHint": true}));
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

async fn asks(cx: Cx) -> Result<String, ToolError> {
    Ok(match cx.elicit::<Name>("name", "Who?").await? {
        Elicited::Accepted(form) => form.name,
        _ => "nobody".into(),
    })
}

#[tokio::test]
async fn processes_with_one_sealing_key_answer_for_each_other_2026() {
    let open = async |key: u8| {
        let server = Server::new("test", "1").sealing_key(SealingKey::new([key; 32]));
        Peer::open(server.tool(Tool::new("ask", "Asks for a name."), asks), Era::Stateless).await
    };
    let (mut one, mut same, mut other) = (open(1).await, open(1).await, open(2).await);
    let mut params = json!({"name": "ask", "arguments": {}});
    let asked = one.send("tools/call", params.clone()).await.unwrap();
    let answers = asked["inputRequests"].as_object().unwrap().keys();
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    params["inputResponses"] = answers.map(|key| (key.clone(), answer.clone())).collect();
    params["requestState"] = asked["requestState"].clone();
    let result = same.send("tools/call", params.clone()).await.unwrap();
    assert_eq!(result["content"][0]["text"], "Ada");
    assert_eq!(other.send("tools/call", params).await.unwrap_err().code(), -32602);
}
