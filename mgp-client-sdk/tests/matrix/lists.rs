//! Lists and their pages, and what of it is declared.

use mgp_types::Revision;
use mgp_types::mcp::{ListPromptsParams, ListToolsParams};
use serde_json::Value;

use crate::leg::Leg;
use crate::runner::tests;
use crate::server::PAGE;

tests![
    tools_are_listed_as_they_are_described,
    a_list_comes_in_pages_and_whole,
    a_cursor_of_somebody_else_is_refused,
    what_is_declared_is_served_and_nothing_else,
];

async fn tools_are_listed_as_they_are_described(leg: Leg) {
    let client = leg.connect().await;
    let tools = client.list_tools().await.unwrap();
    let add = tools.iter().find(|tool| tool.name == "add").unwrap();
    assert_eq!(add.description.as_deref(), Some("Adds."));
    let has_titles = leg.revision >= Revision::V2025_06_18;
    assert_eq!(add.title.as_deref(), has_titles.then_some("Add"));
    let schema: Value = add.input_schema.to().unwrap();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["properties"]["a"]["type"], "integer");
    let read_only = add.annotations.as_ref().and_then(|annotations| annotations.read_only_hint);
    let has_annotations = leg.revision > Revision::V2024_11_05;
    assert_eq!(read_only, has_annotations.then_some(true));
}

async fn a_list_comes_in_pages_and_whole(leg: Leg) {
    let client = leg.connect().await;
    let first = client.send(&ListToolsParams::new()).await.unwrap();
    assert_eq!(first.tools.len(), PAGE);
    let mut second = ListToolsParams::new();
    second.cursor = first.next_cursor;
    let second = client.send(&second).await.unwrap();
    assert_eq!(second.tools.len(), PAGE);

    let all = client.list_tools().await.unwrap();
    let mut names: Vec<_> = all.iter().map(|tool| &*tool.name).collect();
    let total = names.len();
    assert!(total > 2 * PAGE);
    assert_eq!(names[PAGE], second.tools[0].name);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), total);

    let mut pages = client.tools();
    let mut streamed = Vec::new();
    while let Some(tool) = pages.next().await {
        streamed.push(tool.unwrap().name);
    }
    assert_eq!(streamed, all.into_iter().map(|tool| tool.name).collect::<Vec<_>>());
}

async fn a_cursor_of_somebody_else_is_refused(leg: Leg) {
    let client = leg.connect().await;
    let mut params = ListPromptsParams::new();
    params.cursor = Some("not ours".into());
    assert_eq!(client.send(&params).await.unwrap_err().code(), -32602);
}

// covers: BASE-03
async fn what_is_declared_is_served_and_nothing_else(leg: Leg) {
    let client = leg.connect().await;
    let declared = client.capabilities();
    for (capability, methods) in [
        ("tools", &["tools/list"][..]),
        ("prompts", &["prompts/list"]),
        ("resources", &["resources/list", "resources/templates/list"]),
    ] {
        assert!(declared.contains(capability), "{capability}");
        for method in methods {
            client.request(*method, ()).await.unwrap();
        }
    }
    for capability in ["logging", "completions"] {
        let since = capability == "logging" || leg.revision > Revision::V2024_11_05;
        assert_eq!(declared.contains(capability), since, "{capability}");
    }
    let flags = |name: &str| declared.get(name).unwrap().to::<Value>().unwrap();
    assert_eq!(flags("tools")["listChanged"], true);
    assert_eq!(flags("prompts")["listChanged"], true);
    assert_eq!(
        (&flags("resources")["listChanged"], &flags("resources")["subscribe"]),
        (&true.into(), &true.into())
    );
    for unknown in ["tools/nothing", "nothing/list"] {
        assert_eq!(client.request(unknown, ()).await.unwrap_err().code(), -32601, "{unknown}");
    }
}
