//! Lists that come in pages.

use mgp_types::{Origin, Revision};
use serde_json::{Value, json};

use crate::peer::*;

fn page(params: &Value) -> Value {
    let (name, next) = match params.get("cursor").and_then(Value::as_str) {
        None => ("a", Some("")),
        Some("") => ("b", Some("last")),
        _ => ("c", None),
    };
    let mut page = json!({"tools": [{"name": name, "inputSchema": {"type": "object"}}]});
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    page
}

#[tokio::test]
async fn all_pages_are_fetched_and_an_empty_cursor_is_one() {
    for era in ERAS {
        let (peer, client) = Peer::connect(era, builder(), |_, params| page(params)).await;
        let names: Vec<_> = client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let cursors: Vec<_> =
            peer.params("tools/list").iter().map(|params| params["cursor"].clone()).collect();
        assert_eq!(cursors, [json!(null), json!(""), json!("last")]);
    }
}

#[tokio::test]
async fn pages_are_fetched_as_they_are_taken() {
    let (peer, client) = Peer::connect(Revision::LATEST, builder(), |_, params| page(params)).await;
    let mut tools = client.tools();
    assert_eq!(tools.next().await.unwrap().unwrap().name, "a");
    assert_eq!(peer.seen("tools/list").len(), 1);
    tools.next().await.unwrap().unwrap();
    tools.next().await.unwrap().unwrap();
    assert!(tools.next().await.is_none());
    assert_eq!(peer.seen("tools/list").len(), 3);
}

#[tokio::test]
async fn a_list_that_does_not_end_is_given_up() {
    let endless = |_: &str, _: &Value| json!({"prompts": [{"name": "a"}], "nextCursor": "again"});
    let (_, client) = Peer::connect(Revision::LATEST, builder(), endless).await;
    assert_eq!(client.list_prompts().await.unwrap_err().origin(), Origin::Misbehaved);
    let mut prompts = client.prompts();
    while prompts.next().await.unwrap().is_ok() {}
    assert!(prompts.next().await.is_none());
}
