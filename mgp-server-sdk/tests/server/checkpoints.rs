//! Long calls that another call goes on with.

use std::time::Duration;

use crate::peer::{Era, Peer, speaking};
use mgp_server_sdk::types::ext::ToolDeclaration;
use mgp_server_sdk::types::{Error, code};
use mgp_server_sdk::{Cx, SealingKey, Server, Tool, ToolError};
use mgp_stream::call::StreamLayer;
use serde_json::{Value, json};
use tower_layer::{Identity, Stack};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Export {
    rows: u32,
    /// The row at which the call breaks, unless it goes on from another call.
    breaks_at: Option<u32>,
}

/// Streams rows, with checkpoints on every second chunk and by themselves behind the others.
async fn export(Export { rows, breaks_at }: Export, cx: Cx) -> Result<String, ToolError> {
    let resumed: Option<u32> = cx.resumed_from()?;
    for row in resumed.unwrap_or(0)..rows {
        if resumed.is_none() && breaks_at == Some(row) {
            return Err(Error::new(code::UPSTREAM_UNAVAILABLE, "the line broke").into());
        }
        let text = format!("row {row}\n");
        if row % 2 == 0 {
            cx.stream_with_checkpoint(text, &(row + 1)).await?;
        } else {
            cx.stream(text).await?;
            cx.progress(f64::from(row + 1), Some(f64::from(rows)), None).await;
            cx.checkpoint(&(row + 1)).await?;
        }
    }
    Ok("done".into())
}

/// Takes half a second for each row.
async fn slow(cx: Cx) -> Result<&'static str, ToolError> {
    for row in 1..=4_u32 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cx.stream_with_checkpoint(format!("row {row}"), &row).await?;
        cx.progress(f64::from(row), Some(4.0), Some("Processing rows")).await;
    }
    Ok("done")
}

fn server(name: &str) -> Server<Stack<StreamLayer, Identity>> {
    let declared = ToolDeclaration { supports_checkpoint: true, ..ToolDeclaration::default() };
    Server::new(name, "1.0.0")
        .sealing_key(SealingKey::new([7; 32]))
        .tool(Tool::new("export", "Exports rows.").declare(declared.clone()), export)
        .tool(Tool::new("other", "Exports rows, too.").declare(declared.clone()), export)
        .tool(Tool::new("slow", "Takes its time.").declare(declared), slow)
        .tool(Tool::new("plain", "Has no checkpoints."), async || "plain")
        .streaming()
}

async fn client(name: &str, era: Era) -> Peer {
    let capabilities = speaking(era, &["streaming"], &["streaming"]);
    Peer::silent(server(name), era, capabilities).await
}

async fn call(peer: &mut Peer, tool: &str, arguments: Value, resume: &Value) -> Result<Value, Error> {
    let mut params = json!({"name": tool, "arguments": arguments, "_mgp": {"stream": true}, "_meta": {}});
    if !resume.is_null() {
        params["_meta"]["resume"] = resume.clone();
    }
    peer.call("tools/call", params).await
}

/// Returns the next messages: the parts by number, and the wish to go on from the last checkpoint.
async fn received_parts(peer: &mut Peer, messages: usize) -> (Vec<(u64, String)>, Value) {
    let (mut parts, mut resume) = (Vec::new(), Value::Null);
    for _ in 0..messages {
        let (method, params) = peer.next_notification().await;
        if method == "notifications/mgp.stream.chunk" {
            let text = params["content"]["text"].as_str().unwrap().to_owned();
            parts.push((params["index"].as_u64().unwrap(), text));
        } else {
            assert_eq!(method, "notifications/mgp.stream.progress");
            assert!((0.0..=1.0).contains(&params["progress"].as_f64().unwrap()), "{params}");
        }
        if params["checkpoint_token"].is_string() {
            resume = json!({
                "operation_id": params["operation_id"], "checkpoint_token": params["checkpoint_token"],
            });
        }
    }
    (parts, resume)
}

fn expected(rows: std::ops::Range<u64>) -> Vec<(u64, String)> {
    rows.map(|row| (row, format!("row {row}\n"))).collect()
}

// covers: EXT-08-02, EXT-08-07
#[tokio::test(start_paused = true)]
async fn parts_are_numbered_by_one_and_progress_tells_what_goes_on_and_for_how_long() {
    for era in Era::BOTH {
        let mut peer = client("exports", era).await;
        call(&mut peer, "slow", json!({}), &Value::Null).await.unwrap();
        let (mut numbers, mut remaining) = (Vec::new(), Vec::new());
        let mut operations = Vec::new();
        for _ in 0..8 {
            let (method, params) = peer.next_notification().await;
            if method == "notifications/mgp.stream.chunk" {
                numbers.push(params["index"].as_u64().unwrap());
                assert_ne!(params["done"], true, "the last part is not known to be it: {params}");
                assert!(params["checkpoint_token"].is_string(), "{params}");
                operations.push(params["operation_id"].as_str().unwrap().to_owned());
            } else {
                assert_eq!(method, "notifications/mgp.stream.progress");
                assert_eq!(params["message"], "Processing rows");
                remaining.push(params["estimated_remaining_ms"].as_u64().unwrap());
            }
        }
        assert_eq!(numbers, [0, 1, 2, 3]);
        operations.dedup();
        assert_eq!(operations.len(), 1, "one call is one operation: {operations:?}");
        assert!(remaining.is_sorted_by(|earlier, later| earlier > later), "{remaining:?}");
        assert_eq!(remaining.last(), Some(&0));
    }
}

// covers: EXT-08-04
#[tokio::test]
async fn checkpoints_are_declared_and_a_tool_without_them_says_so() {
    for era in Era::BOTH {
        let mut peer = client("exports", era).await;
        let tools = peer.call("tools/list", json!({})).await.unwrap();
        let supports = |name: &str| {
            let tools = tools["tools"].as_array().unwrap();
            tools.iter().find(|tool| tool["name"] == name).unwrap().get("supports_checkpoint").cloned()
        };
        assert_eq!((supports("export"), supports("plain")), (Some(json!(true)), None));
        let resume = json!({"operation_id": "op-1", "checkpoint_token": "ck"});
        let refused = call(&mut peer, "plain", json!({}), &resume).await.unwrap_err();
        assert_eq!(refused.code(), code::METHOD_NOT_FOUND);
        assert!(refused.message().contains("tool `plain` has no checkpoints"), "{refused}");
        assert!(call(&mut peer, "plain", json!({}), &Value::Null).await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_is_for_its_call_alone_and_for_a_quarter_of_an_hour() {
    for era in Era::BOTH {
        let mut peer = client("exports", era).await;
        let arguments = json!({"rows": 3, "breaks_at": 1});
        call(&mut peer, "export", arguments.clone(), &Value::Null).await.unwrap_err();
        let (_, resume) = received_parts(&mut peer, 1).await;
        let refused = async |peer: &mut Peer, tool: &str, arguments: Value, resume: &Value| {
            call(peer, tool, arguments, resume).await.unwrap_err().code()
        };
        let invalid = code::CHECKPOINT_INVALID;
        assert_eq!(refused(&mut peer, "other", arguments.clone(), &resume).await, invalid);
        assert_eq!(refused(&mut peer, "export", json!({"rows": 4, "breaks_at": 1}), &resume).await, invalid);
        for (member, value) in [("operation_id", "op-1"), ("checkpoint_token", "ck")] {
            let mut other = resume.clone();
            other[member] = value.into();
            assert_eq!(refused(&mut peer, "export", arguments.clone(), &other).await, invalid, "{member}");
        }
        let form = json!({"operation_id": "op-1"});
        assert_eq!(refused(&mut peer, "export", arguments.clone(), &form).await, code::INVALID_PARAMS);
        let mut elsewhere = client("mail", era).await;
        assert_eq!(refused(&mut elsewhere, "export", arguments.clone(), &resume).await, invalid);
        // Another instance with the same key and name goes on, and the arguments may be written in another order.
        let mut instance = client("exports", era).await;
        let reordered = json!({"breaks_at": 1, "rows": 3});
        assert!(call(&mut instance, "export", reordered, &resume).await.is_ok());
        tokio::time::advance(Duration::from_secs(901)).await;
        assert_eq!(refused(&mut peer, "export", arguments, &resume).await, code::CHECKPOINT_EXPIRED);
    }
}

#[tokio::test]
async fn a_client_that_knows_no_checkpoints_is_told_of_none() {
    for era in Era::BOTH {
        let capabilities = speaking(era, &["streaming"], &[]);
        let mut peer = Peer::silent(server("exports"), era, capabilities).await;
        call(&mut peer, "export", json!({"rows": 3}), &Value::Null).await.unwrap();
        // Three parts and one report of progress.
        let (parts, resume) = received_parts(&mut peer, 4).await;
        assert_eq!((parts, resume), (expected(0..3), Value::Null));
        peer.told_nothing().await;
    }
}
