//! Results that are read while they are made (§12).

use mgp_client_sdk::{StreamPart, StreamedCall};
use mgp_types::{RawJson, RpcService};
use serde_json::{Value, json};

use crate::host::{builder, plain_builder, text};
use crate::leg::{Connected, Leg};
use crate::runner::tests;
use crate::server::Kind;

tests![
    parts_come_in_order_before_the_result,
    a_result_of_its_own_comes_whole_beside_what_was_streamed,
    nobody_who_did_not_ask_is_streamed_to,
    a_server_without_streaming_answers_in_whole,
    ten_thousand_parts_arrive_in_order,
    two_streams_at_once_stay_apart,
    a_handler_may_fail_after_parts,
];

/// Returns the texts of all parts that are chunks, whose numbers have to be in order.
pub(crate) async fn texts<S: RpcService, T>(streamed: &mut StreamedCall<S, T>) -> Vec<String> {
    let mut texts = Vec::new();
    while let Some(part) = streamed.next().await {
        match part {
            StreamPart::Chunk(chunk) => {
                assert_eq!(chunk.index, texts.len() as u64);
                texts.push(chunk.content.as_text().unwrap().to_owned());
            }
            StreamPart::Progress(_) => {}
            part => panic!("{part:?}"),
        }
    }
    texts
}

/// Returns a call whose result is read as it is on the wire.
pub(crate) fn whole(
    client: &Connected,
    tool: &str,
    arguments: &Value,
) -> mgp_client_sdk::Call<mgp_types::BoxedService, RawJson> {
    client.request("tools/call", json!({"name": tool, "arguments": arguments}))
}

pub(crate) fn value(raw: &RawJson) -> Value {
    serde_json::from_slice(raw.as_bytes()).unwrap()
}

fn numbers(label: &str, to: usize) -> Vec<String> {
    (0..to).map(|number| format!("{label}{number} ")).collect()
}

// covers: MGP-12.1-01, MGP-12.3-01, MGP-12.4-03, MGP-12.4-04, MGP-12.5-01..05, ENV-10-02
async fn parts_come_in_order_before_the_result(leg: Leg) {
    let (_host, client) = leg.connect().await;
    let mut streamed = whole(&client, "count", &json!({"to": 20})).stream().unwrap();
    assert_eq!(texts(&mut streamed).await, numbers("", 20));
    let result = value(&streamed.finish().await.unwrap());
    assert_eq!(result["content"], json!([{"type": "text", "text": numbers("", 20).concat()}]));
    assert_eq!((&result["_mgp"]["streamed"], &result["_mgp"]["chunks_sent"]), (&json!(true), &json!(20)));
    assert!(result["_mgp"]["duration_ms"].is_u64(), "{result}");
    client.close().await.unwrap();
}

// covers: MGP-12.5-01, MGP-12.5-05
async fn a_result_of_its_own_comes_whole_beside_what_was_streamed(leg: Leg) {
    let (_host, client) = leg.connect().await;
    let mut streamed = client.call_tool("think", ()).stream().unwrap();
    assert_eq!(texts(&mut streamed).await, ["Quantum computing is", " a paradigm that uses"]);
    let result = streamed.finish().await.unwrap();
    assert_eq!(text(&result), "Quantum computing is a paradigm that uses...");
    // Whoever reads no parts has the same result.
    let result = client.call_tool("think", ()).stream().unwrap().finish().await.unwrap();
    assert_eq!(text(&result), "Quantum computing is a paradigm that uses...");
}

// covers: MGP-12.1-01, MGP-12.3-01, MGP-12.5-05
async fn nobody_who_did_not_ask_is_streamed_to(leg: Leg) {
    let (_host, client) = leg.connect().await;
    let result = value(&whole(&client, "count", &json!({"to": 3})).await.unwrap());
    assert_eq!(result["content"], json!([{"type": "text", "text": "0 1 2 "}]));
    assert!(result.get("_mgp").is_none(), "{result}");
    client.close().await.unwrap();

    let mut host = leg.host(Kind::Mgp).await;
    let plain = host.client(plain_builder()).await;
    let mut streamed = whole(&plain, "count", &json!({"to": 3})).stream().unwrap();
    assert!(texts(&mut streamed).await.is_empty());
    let result = value(&streamed.finish().await.unwrap());
    assert_eq!(result["content"], json!([{"type": "text", "text": "0 1 2 "}]));
    assert!(result.get("_mgp").is_none(), "{result}");
}

// covers: MGP-12.3-02, MGP-12.5-05
async fn a_server_without_streaming_answers_in_whole(leg: Leg) {
    let mut host = leg.host(Kind::Mcp).await;
    let client = host.client(builder()).await;
    let mut streamed = whole(&client, "count", &json!({"to": 3})).stream().unwrap();
    assert!(texts(&mut streamed).await.is_empty());
    let result = value(&streamed.finish().await.unwrap());
    assert_eq!(result["content"], json!([{"type": "text", "text": "0 1 2 "}]));
    assert!(result.get("_mgp").is_none(), "{result}");
}

// covers: MGP-12.4-03, MGP-12.5-03, MGP-12.5-05, GGEN-8.1-04
async fn ten_thousand_parts_arrive_in_order(leg: Leg) {
    let (_host, client) = leg.connect().await;
    let mut streamed = whole(&client, "count", &json!({"to": 10_000})).stream().unwrap();
    assert!(texts(&mut streamed).await == numbers("", 10_000));
    let result = value(&streamed.finish().await.unwrap());
    assert_eq!(result["_mgp"]["chunks_sent"], 10_000);
    assert!(result["content"][0]["text"] == numbers("", 10_000).concat());
}

// covers: MGP-12.4-02
async fn two_streams_at_once_stay_apart(leg: Leg) {
    let (_host, client) = leg.connect().await;
    let stream =
        |label: &str| client.call_tool("count", json!({"to": 100, "label": label})).stream().unwrap();
    let (mut one, mut other) = (stream("a"), stream("b"));
    let (of_one, of_other) = tokio::join!(texts(&mut one), texts(&mut other));
    assert_eq!((of_one, of_other), (numbers("a", 100), numbers("b", 100)));
    assert_eq!(text(&one.finish().await.unwrap()), numbers("a", 100).concat());
    assert_eq!(text(&other.finish().await.unwrap()), numbers("b", 100).concat());
}

async fn a_handler_may_fail_after_parts(leg: Leg) {
    let (_host, client) = leg.connect().await;
    let mut streamed = client.call_tool("fail", ()).stream().unwrap();
    assert_eq!(texts(&mut streamed).await, ["word"]);
    let error = streamed.finish().await.unwrap_err();
    assert_eq!((error.code(), error.message()), (5000, "the model is gone"));

    let mut streamed = client.call_tool("stumble", ()).stream().unwrap();
    assert_eq!(texts(&mut streamed).await, ["word"]);
    let result = streamed.finish().await.unwrap();
    assert_eq!((result.is_error, text(&result)), (Some(true), "no more words"));
}
