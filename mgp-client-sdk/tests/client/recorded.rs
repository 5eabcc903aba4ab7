//! Recorded messages of other MGP programs to clients. The numbers are those under which the observations were noted.

use mgp_client_sdk::{Client, StreamPart};
use mgp_stream::call::summary;
use mgp_types::mgp::{CallbackRequest, Extension, ExtensionSet, Offer, StreamSummary};
use mgp_types::{RawJson, Response, Revision};
use serde_json::{Value, json};

use crate::peer::{Peer, PlainClient, builder};

/// Connects to a server that answers calls, and what it does not know as the Python SDK does.
async fn plain(builder: mgp_client_sdk::ClientBuilder) -> (Peer, PlainClient) {
    scripted(builder, &["permissions", "streaming"], |method, id, _| match method {
        "tools/call" => vec![result(id, &json!({"content": [{"type": "text", "text": "done"}]}))],
        _ => vec![unknown(id)],
    })
    .await
}

/// Returns the error by which the Python SDK answers what it does not know.
fn unknown(id: &Value) -> Value {
    let error = json!({"code": -32602, "message": "Invalid request parameters", "data": ""});
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

#[tokio::test]
async fn i_1_an_offer_among_the_experimental_capabilities_is_read() {
    let offer = Offer::new(ExtensionSet::standard());
    let (_peer, client) = plain(builder().mgp(offer)).await;
    let session = client.session().unwrap();
    let agreed = session.mgp.as_ref().unwrap();
    assert!(agreed.has(&Extension::Permissions) && agreed.has(&Extension::Streaming));
    assert!(!agreed.has(&Extension::Audit));
}

#[tokio::test]
async fn i_3_an_offer_to_a_client_that_made_none_is_no_agreement() {
    let (peer, client) = plain(builder().mgp(None)).await;
    assert!(client.session().unwrap().mgp.is_none());
    client.call_tool("think", json!({})).await.unwrap();
    assert!(peer.all().iter().all(|message| !message.to_string().contains("_mgp")));
}

#[tokio::test]
async fn i_6_a_server_that_calls_unknown_methods_invalid_is_found_and_used() {
    let client: Client<_> = plain(builder().mgp(Offer::new(ExtensionSet::standard()))).await.1;
    assert_eq!(client.revision(), Some(Revision::V2025_11_25));
    let refused = client.request("mgp/health/ping", json!({"timestamp": "2026-01-01T00:00:00Z"})).await;
    assert_eq!(refused.unwrap_err().code(), -32602);
    assert_eq!(client.call_tool("think", json!({})).await.unwrap().content[0].as_text(), Some("done"));
}

/// Returns a server that opens a session with these extensions and else says what `says` does, under the id of the
/// request.
async fn scripted(
    builder: mgp_client_sdk::ClientBuilder,
    extensions: &'static [&'static str],
    says: impl FnMut(&str, &Value, &Value) -> Vec<Value> + Send + 'static,
) -> (Peer, PlainClient) {
    let (peer, (reader, writer)) = Peer::raw(answering(extensions, says));
    (peer, builder.connect_io(reader, writer).await.unwrap())
}

fn answering(
    extensions: &'static [&'static str],
    mut says: impl FnMut(&str, &Value, &Value) -> Vec<Value> + Send + 'static,
) -> impl FnMut(&Value) -> Vec<Value> + Send + 'static {
    move |message| {
        let (id, params) = (&message["id"], &message["params"]);
        let Some(method) = message["method"].as_str() else { return Vec::new() };
        match method {
            "initialize" => {
                let mgp =
                    json!({"version": "0.6.0", "extensions": extensions, "server_id": "cloto-mcp-local"});
                vec![result(
                    id,
                    &json!({
                        "protocolVersion": "2025-11-25",
                        "capabilities": {"tools": {}, "experimental": {"mgp": mgp}},
                        "serverInfo": {"name": "cloto-mcp-local", "version": "1.30.0"},
                    }),
                )]
            }
            "server/discover" => vec![unknown(id)],
            "notifications/initialized" => Vec::new(),
            _ => says(method, id, params),
        }
    }
}

fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn chunk(id: &Value, index: usize) -> Value {
    let content = json!({"type": "text", "text": format!("{index} ")});
    let params = json!({"request_id": id, "index": index, "content": content, "done": false});
    notification("notifications/mgp.stream.chunk", &params)
}

fn streaming() -> mgp_client_sdk::ClientBuilder {
    builder().mgp(Offer::new(ExtensionSet::from_names(["streaming"])))
}

/// Returns the numbers of the chunks, and the gaps.
async fn read(
    streamed: &mut mgp_client_sdk::StreamedCall<impl mgp_types::RpcService, impl Sized>,
) -> Vec<String> {
    let mut parts = Vec::new();
    while let Some(part) = streamed.next().await {
        parts.push(match part {
            StreamPart::Chunk(chunk) => {
                assert_eq!(chunk.content.as_text(), Some(&*format!("{} ", chunk.index)));
                chunk.index.to_string()
            }
            StreamPart::Gap { missing } => format!("{missing:?}"),
            part => panic!("{part:?}"),
        });
    }
    parts
}

// covers: MGP-12.4-05, MGP-12.5-02
#[tokio::test(start_paused = true)]
async fn i_2_chunks_that_are_never_done_end_with_a_summary_inside_the_text() {
    let (_peer, client) = scripted(streaming(), &["permissions", "streaming"], |_, id, params| {
        assert_eq!(params["_mgp"]["stream"], true);
        let mut out: Vec<_> = (0..8).map(|index| chunk(id, index)).collect();
        let text = r#"{"response":"0 1 2 3 4 5 6 7 ","_mgp":{"streamed":true,"chunks_sent":8}}"#;
        out.push(result(id, &json!({"content": [{"type": "text", "text": text}]})));
        out
    })
    .await;
    let mut streamed = client.request("tools/call", json!({"name": "think"})).stream().unwrap();
    assert_eq!(read(&mut streamed).await, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    let final_summary: StreamSummary = summary(&Response::new(streamed.finish().await.unwrap())).unwrap();
    assert_eq!(
        (final_summary.streamed, final_summary.chunks_sent, final_summary.duration_ms),
        (true, 8, None)
    );
}

// covers: MGP-12.7-02, MGP-12.7-04, MGP-12.7-05
#[tokio::test(start_paused = true)]
async fn i_4_a_partial_result_may_be_a_text_and_the_call_is_answered_too() {
    let mut called = Value::Null;
    let (_peer, client) = scripted(streaming(), &["streaming"], move |method, id, params| {
        if method == "tools/call" {
            called = id.clone();
            return vec![chunk(id, 0), chunk(id, 1)];
        }
        assert_eq!(method, "mgp/stream/cancel");
        // It knows calls by integers only.
        if !params["request_id"].is_i64() {
            return vec![
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "request_id"}}),
            ];
        }
        assert_eq!(params["request_id"], called);
        let text = r#"{"response":"0 1 ","cancelled":true}"#;
        vec![
            result(id, &json!({"cancelled": true, "partial_result": {"content": "0 1 "}})),
            result(&called, &json!({"content": [{"type": "text", "text": text}]})),
        ]
    })
    .await;
    let mut streamed = client.call_tool("think", ()).stream().unwrap();
    for _ in 0..2 {
        assert!(matches!(streamed.next().await, Some(StreamPart::Chunk(_))));
    }
    let answer = streamed.cancel(Some("user_cancelled")).await.unwrap();
    assert!(answer.cancelled);
    let partial = answer.partial_result.unwrap().content;
    assert_eq!((partial.len(), partial[0].as_text()), (1, Some("0 1 ")));
    assert!(read(&mut streamed).await.is_empty());
    let result = streamed.finish().await.unwrap();
    assert!(result.content[0].as_text().unwrap().contains("cancelled"));
}

#[tokio::test(start_paused = true)]
async fn i_4_a_call_that_the_server_has_finished_is_not_active() {
    let (_peer, client) = scripted(streaming(), &["streaming"], |method, id, _| match method {
        "tools/call" => vec![chunk(id, 0)],
        _ => vec![result(id, &json!({"cancelled": false, "reason": "not_active"}))],
    })
    .await;
    let mut streamed = client.call_tool("think", ()).stream().unwrap();
    assert!(matches!(streamed.next().await, Some(StreamPart::Chunk(_))));
    let answer = streamed.cancel(None).await.unwrap();
    assert_eq!((answer.cancelled, answer.reason.as_deref()), (false, Some("not_active")));
}

#[tokio::test(start_paused = true)]
async fn i_4_a_chunk_that_is_missing_is_asked_for_and_comes_again() {
    let mut call = Value::Null;
    let (peer, client) = scripted(streaming(), &["streaming"], move |method, id, params| match method {
        "tools/call" => {
            call = id.clone();
            vec![chunk(id, 1), chunk(id, 2)]
        }
        "notifications/mgp.stream.gap" => {
            assert_eq!(*params, json!({"request_id": call, "missing_indices": [0]}));
            let mut again = chunk(&call, 0);
            again["params"]["_mgp"] = json!({"retransmit": true});
            vec![again, result(&call, &json!({"content": [{"type": "text", "text": "0 1 2 "}]}))]
        }
        _ => Vec::new(),
    })
    .await;
    let mut streamed = client.call_tool("think", ()).stream().unwrap();
    assert_eq!(read(&mut streamed).await, ["0", "1", "2"]);
    assert_eq!(streamed.finish().await.unwrap().content[0].as_text(), Some("0 1 2 "));
    assert_eq!(peer.seen("notifications/mgp.stream.gap").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn i_4_a_chunk_that_is_gone_is_told_by_a_notification() {
    let mut call = Value::Null;
    let (_peer, client) = scripted(streaming(), &["streaming"], move |method, id, params| match method {
        "tools/call" => {
            call = id.clone();
            vec![chunk(id, 1), chunk(id, 2)]
        }
        "notifications/mgp.stream.gap" => {
            let gone = json!({"request_id": call, "missing_indices": params["missing_indices"]});
            vec![notification("notifications/mgp.stream.gap_unrecoverable", &gone), chunk(&call, 3)]
        }
        _ => Vec::new(),
    })
    .await;
    let mut streamed = client.call_tool("think", ()).stream().unwrap();
    let mut parts = Vec::new();
    for _ in 0..4 {
        parts.push(streamed.next().await.unwrap());
    }
    assert_eq!(parts[0], StreamPart::Gap { missing: 0..1 });
    assert!(matches!(&parts[3], StreamPart::Chunk(chunk) if chunk.index == 3));
}

// covers: MGP-13.4-09..11
#[tokio::test(start_paused = true)]
async fn i_8_servers_that_name_their_callbacks_alike_both_get_their_answer() {
    let connect = async |answer: &'static str| {
        let mut call = Value::Null;
        let handler = move |_: CallbackRequest, _| async move { RawJson::from_value(&answer).ok() };
        let (peer, (reader, writer)) = Peer::raw(answering(&["callbacks"], move |method, id, params| {
            match method {
                "tools/call" => {
                    call = id.clone();
                    let asked = json!({
                        "callback_id": "cb-001", "request_id": id, "type": "confirmation", "message": "Continue?",
                        "options": ["confirm", "cancel"], "timeout_ms": 60000,
                    });
                    vec![notification("notifications/mgp.callback.request", &asked)]
                }
                "mgp/callback/respond" => {
                    assert_eq!(params["callback_id"], "cb-001");
                    let said = params["response"].clone();
                    vec![
                        result(id, &json!({"callback_id": "cb-001", "accepted": true})),
                        result(&call, &json!({"content": [{"type": "text", "text": said}]})),
                    ]
                }
                _ => Vec::new(),
            }
        }));
        (peer, builder().on_callback(handler).connect_io(reader, writer).await.unwrap())
    };
    let ((_one_peer, one), (_other_peer, other)) = (connect("confirm").await, connect("cancel").await);
    let (of_one, of_other) = tokio::join!(one.call_tool("delete", ()), other.call_tool("delete", ()));
    assert_eq!(of_one.unwrap().content[0].as_text(), Some("confirm"));
    assert_eq!(of_other.unwrap().content[0].as_text(), Some("cancel"));
}
