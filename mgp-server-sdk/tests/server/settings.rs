//! The settings of a server, as its clients see them.

use std::time::Duration;

use crate::peer::{Era, Peer};
use mgp_server_sdk::mcp::CacheScope;
use mgp_server_sdk::{Cx, Elicited, SealingKey, Server, Tool, ToolError};
use serde_json::json;

fn server() -> Server {
    Server::new("test", "1").tool(Tool::new("again", "May be repeated.").idempotent(), async || ())
}

#[tokio::test]
async fn lists_say_for_how_long_and_by_whom_they_may_be_kept_2026() {
    let server = server().cache_lists(Duration::from_secs(90), CacheScope::Public);
    let list = Peer::open(server, Era::Stateless).await.call("tools/list", json!({})).await.unwrap();
    assert_eq!((&list["ttlMs"], &list["cacheScope"]), (&json!(90_000), &json!("public")));
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
