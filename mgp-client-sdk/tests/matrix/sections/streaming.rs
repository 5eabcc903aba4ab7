//! Results that are read while they are made (§12).

use mgp_client_sdk::{StreamPart, StreamedCall};
use mgp_types::{RawJson, RpcService};
use serde_json::{Value, json};

use super::connect;
use crate::host::text;
use crate::leg::{Connected, Leg};
use crate::runner::tests;

tests![
    ten_thousand_parts_come_in_order_before_the_result,
    a_result_of_its_own_comes_whole_beside_what_was_streamed,
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

fn numbers(to: usize) -> Vec<String> {
    (0..to).map(|number| format!("{number} ")).collect()
}

// covers: MGP-12.1-01, MGP-12.3-01, MGP-12.4-03, MGP-12.4-04, MGP-12.5-02..04, ENV-10-02
async fn ten_thousand_parts_come_in_order_before_the_result(leg: Leg) {
    let (_host, client) = connect(leg).await;
    let mut streamed = whole(&client, "count", &json!({"to": 10_000})).stream().unwrap();
    assert!(texts(&mut streamed).await == numbers(10_000));
    let result = value(&streamed.finish().await.unwrap());
    assert!(result["content"] == json!([{"type": "text", "text": numbers(10_000).concat()}]));
    assert_eq!((&result["_mgp"]["streamed"], &result["_mgp"]["chunks_sent"]), (&json!(true), &json!(10_000)));
    assert!(result["_mgp"]["duration_ms"].is_u64(), "{result}");
    client.close().await.unwrap();
}

// covers: MGP-12.5-01, MGP-12.5-05
async fn a_result_of_its_own_comes_whole_beside_what_was_streamed(leg: Leg) {
    let (_host, client) = connect(leg).await;
    let mut streamed = client.call_tool("think", ()).stream().unwrap();
    assert_eq!(texts(&mut streamed).await, ["Quantum computing is", " a paradigm that uses"]);
    let result = streamed.finish().await.unwrap();
    assert_eq!(text(&result), "Quantum computing is a paradigm that uses...");
    // Whoever reads no parts has the same result.
    let result = client.call_tool("think", ()).stream().unwrap().finish().await.unwrap();
    assert_eq!(text(&result), "Quantum computing is a paradigm that uses...");
}

async fn a_handler_may_fail_after_parts(leg: Leg) {
    let (_host, client) = connect(leg).await;
    let mut streamed = client.call_tool("fail", ()).stream().unwrap();
    assert_eq!(texts(&mut streamed).await, ["word"]);
    let error = streamed.finish().await.unwrap_err();
    assert_eq!((error.code(), error.message()), (5000, "the model is gone"));

    let mut streamed = client.call_tool("stumble", ()).stream().unwrap();
    assert_eq!(texts(&mut streamed).await, ["word"]);
    let result = streamed.finish().await.unwrap();
    assert_eq!((result.is_error, text(&result)), (Some(true), "no more words"));
}
