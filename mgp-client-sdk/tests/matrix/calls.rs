//! Tools: calls, their results, and their failures.

use futures_util::future::join_all;
use mgp_types::Revision;
use mgp_types::mcp::ContentBlock;
use serde_json::{Value, json};

use crate::leg::{Connected, Leg};
use crate::runner::tests;

tests![
    typed_and_raw_arguments_arrive_as_they_were_sent,
    structured_results_reach_clients_that_have_them,
    contents_come_in_the_kinds_that_the_revision_has,
    a_tool_that_fails_says_so_in_its_result,
    arguments_that_do_not_fit_are_told_to_the_model,
    an_unknown_tool_is_an_error_of_the_protocol,
    a_payload_of_a_megabyte_goes_both_ways,
    concurrent_calls_get_their_own_answers,
];

/// Returns the text of a tool's result that is no failure.
pub(crate) async fn text(client: &Connected, tool: &str, arguments: Value) -> String {
    let result = client.call_tool(tool, arguments).await.unwrap();
    assert!(!result.is_error(), "{tool}: {result:?}");
    result.content.first().and_then(|block| block.as_text()).unwrap_or_default().to_owned()
}

#[derive(serde::Serialize)]
struct Pair {
    a: i64,
    b: i64,
}

async fn typed_and_raw_arguments_arrive_as_they_were_sent(leg: Leg) {
    let client = leg.connect().await;
    let sum = client.call_tool("add", Pair { a: 19, b: 23 }).await.unwrap();
    assert_eq!(sum.content[0].as_text(), Some("42"));

    let raw = r#"{"deep":[{"x":1.0e2},null,"\u00e9\n"],"big":12345678901234567890123}"#;
    let arguments = mgp_types::RawJson::parse(raw).unwrap();
    let result = client.call_tool("raw", arguments).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some(raw));
    let result = client.call_tool("raw", ()).await.unwrap();
    assert!(["", "{}", "null"].contains(&result.content[0].as_text().unwrap()), "{result:?}");
    client.close().await.unwrap();
}

async fn structured_results_reach_clients_that_have_them(leg: Leg) {
    let client = leg.connect().await;
    let result = client.call_tool("sum", json!({"a": 1, "b": 2})).await.unwrap();
    let structured: Option<Value> = result.structured_content.as_ref().map(|raw| raw.to().unwrap());
    let since = leg.revision >= Revision::V2025_06_18;
    assert_eq!(structured, since.then(|| json!({"sum": 3})));
    let as_text: Value = serde_json::from_str(result.content[0].as_text().unwrap()).unwrap();
    assert_eq!(as_text, json!({"sum": 3}));
}

async fn contents_come_in_the_kinds_that_the_revision_has(leg: Leg) {
    let client = leg.connect().await;
    let contents = client.call_tool("contents", ()).await.unwrap().content;
    let kinds: Vec<_> = contents
        .iter()
        .map(|block| match block {
            ContentBlock::Text(_) => "text",
            ContentBlock::Image(image) => &image.mime_type,
            ContentBlock::Audio(audio) => &audio.mime_type,
            ContentBlock::ResourceLink(link) => &link.uri,
            ContentBlock::Resource(_) => "resource",
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = match leg.revision {
        // What it lacks is told in words.
        Revision::V2024_11_05 => ["text", "image/png", "text", "text", "resource"],
        _ => ["text", "image/png", "audio/wav", "matrix://text", "resource"],
    };
    assert_eq!(kinds, expected);
}

async fn a_tool_that_fails_says_so_in_its_result(leg: Leg) {
    let client = leg.connect().await;
    let result = client.call_tool("fail", ()).await.unwrap();
    assert!(result.is_error());
    assert_eq!(result.content[0].as_text(), Some("no luck"));
    assert_eq!(text(&client, "echo", json!({"text": "still here"})).await, "still here");
}

async fn arguments_that_do_not_fit_are_told_to_the_model(leg: Leg) {
    let client = leg.connect().await;
    for arguments in [json!({"a": 1}), json!({"a": 1, "b": "two"})] {
        let result = client.call_tool("add", arguments).await.unwrap();
        assert!(result.is_error());
        assert!(result.content[0].as_text().unwrap().contains("b`"), "{result:?}");
    }
    let error = client.call_tool("add", 7).await.unwrap_err();
    assert_eq!(error.code(), -32602);
}

async fn an_unknown_tool_is_an_error_of_the_protocol(leg: Leg) {
    let client = leg.connect().await;
    let error = client.call_tool("nothing", ()).await.unwrap_err();
    assert_eq!((error.code(), error.origin()), (-32602, mgp_types::Origin::Peer));
}

async fn a_payload_of_a_megabyte_goes_both_ways(leg: Leg) {
    let client = leg.connect().await;
    let payload: String = ('a'..='z').cycle().take(1 << 20).collect();
    assert!(text(&client, "echo", json!({"text": payload})).await == payload);
}

async fn concurrent_calls_get_their_own_answers(leg: Leg) {
    let client = leg.connect().await;
    let calls = (0..64).map(|number| {
        let client = client.clone();
        // The later it is called, the sooner it answers.
        async move { (number, text(&client, "wait", json!({"a": number, "b": 64})).await) }
    });
    for (number, answer) in join_all(calls).await {
        assert_eq!(answer, number.to_string());
    }
}
