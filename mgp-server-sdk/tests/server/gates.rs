//! Refused requests: each is refused by the layer that is in charge, and by it alone.

use crate::peer::{Era, Peer};
use mgp_server_sdk::mcp::LogLevel;
use mgp_server_sdk::{CompletionRequest, Cx, Prompt, Resource, Server, Tool};
use serde_json::json;

/// Returns a server that offers only this, and nothing of the rest.
fn offering(capability: &str) -> Server {
    let server = Server::new("test", "1");
    match capability {
        "tools" => server.tool(Tool::new("a", "A."), async || "a"),
        "prompts" => server.prompt(Prompt::new("a", "A."), async || "a"),
        "resources" => server.resource(Resource::new("a:a", "a"), async || "a"),
        "completions" => server
            .prompt(Prompt::new("a", "A.").required("b", "B."), async || "a")
            .complete_prompt("a", "b", async |_: CompletionRequest| ["c"]),
        _ => server,
    }
}

// covers: BASE-13
#[tokio::test]
async fn what_is_declared_of_logs_changes_and_subscriptions_happens() {
    let log = async |cx: Cx| cx.log(LogLevel::Error, None, "loud").await;
    let server = offering("prompts")
        .tool(Tool::new("log", "Logs."), log)
        .resource(Resource::new("a:a", "a"), async || "a");
    let handle = server.handle();
    let mut peer = Peer::open(server, Era::Session).await;
    let declared = peer.declared().await;
    let list = json!({"listChanged": true});
    assert_eq!((&declared["tools"], &declared["prompts"]), (&list, &list));
    assert_eq!(declared["resources"], json!({"listChanged": true, "subscribe": true}));
    assert_eq!(declared["logging"], json!({}));
    handle.tools_changed();
    assert_eq!(peer.next_notification().await.0, "notifications/tools/list_changed");
    handle.prompts_changed();
    assert_eq!(peer.next_notification().await.0, "notifications/prompts/list_changed");
    handle.resources_changed();
    assert_eq!(peer.next_notification().await.0, "notifications/resources/list_changed");
    peer.call("resources/subscribe", json!({"uri": "a:a"})).await.unwrap();
    handle.resource_updated("a:a");
    let (method, updated) = peer.next_notification().await;
    assert_eq!((&*method, &updated["uri"]), ("notifications/resources/updated", &json!("a:a")));
    for (level, is_told) in [("emergency", false), ("error", true)] {
        peer.call("logging/setLevel", json!({"level": level})).await.unwrap();
        peer.tool("log", json!({})).await.unwrap();
        let told = peer.told_already();
        assert_eq!(
            told.map(|(method, params)| (method, params["data"].clone())),
            is_told.then(|| { ("notifications/message".to_owned(), json!("loud")) }),
            "{level}"
        );
    }
}

// covers: BASE-03, BASE-13
#[tokio::test]
async fn what_is_declared_is_served_and_what_is_not_is_no_method() {
    let completion =
        json!({"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "b", "value": ""}});
    let methods = [
        ("tools", "tools/list", json!({})),
        ("tools", "tools/call", json!({"name": "a"})),
        ("prompts", "prompts/list", json!({})),
        ("prompts", "prompts/get", json!({"name": "a"})),
        ("resources", "resources/list", json!({})),
        ("resources", "resources/templates/list", json!({})),
        ("resources", "resources/read", json!({"uri": "a:a"})),
        ("completions", "completion/complete", completion),
    ];
    for era in Era::BOTH {
        for offered in ["tools", "prompts", "resources", "completions", "nothing"] {
            let mut peer = Peer::open(offering(offered), era).await;
            let declared = peer.declared().await;
            for (capability, method, params) in &methods {
                let has = declared.get(capability).is_some();
                // A prompt comes with the completion of its argument.
                let expected = offered == *capability || (offered, *capability) == ("completions", "prompts");
                assert_eq!(has, expected, "{offered}: {declared}");
                let outcome = peer.call(method, params.clone()).await;
                match outcome {
                    Err(error) if !has => assert_eq!(error.code(), -32601, "{method}"),
                    // The only argument of that prompt is missing.
                    Err(error) => assert_eq!((error.code(), offered), (-32602, "completions"), "{method}"),
                    Ok(_) => assert!(has, "{offered} serves {method}"),
                }
            }
        }
    }
}
