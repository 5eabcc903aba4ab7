//! Long calls: their reports of progress in the words of `progress_notifications`, and the calls and tasks that go on
//! with them.

use std::time::Duration;

use crate::peer::{Era, Peer, speaking};
use mgp_server_sdk::types::ext::ToolDeclaration;
use mgp_server_sdk::types::{Error, code};
use mgp_server_sdk::{Cx, Object, SealingKey, Server, TaskMode, Tool, ToolError};
use mgp_stream::call::StreamLayer;
use serde_json::{Value, json};
use tower_layer::{Identity, Stack};

const REPORTS: &str = "progress_notifications";
const CHECKPOINTS: &str = "streaming";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Report {
    progress: f64,
    total: Option<f64>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Export {
    rows: u32,
    /// The row at which the call breaks, unless it goes on from another call.
    breaks_at: Option<u32>,
}

/// Streams rows, with checkpoints on every second chunk and by themselves behind the others.
async fn export(Export { rows, breaks_at }: Export, cx: Cx) -> Result<(), ToolError> {
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
            cx.checkpoint(&(row + 1)).await?;
        }
        cx.progress(f64::from(row + 1), Some(f64::from(rows)), Some("Exporting")).await;
    }
    Ok(())
}

/// Takes half a second for each row.
async fn slow(cx: Cx) -> Result<&'static str, ToolError> {
    for row in 1..=4_u32 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cx.stream_with_checkpoint(format!("row {row}"), &row).await?;
        let so_far = Object::from_value(&json!({"rows": row}))?;
        let message = format!("Processing row {row} of 4");
        cx.progress_with_result(row.into(), Some(4.0), Some(&message), &so_far).await;
    }
    Ok("done")
}

fn server(name: &str) -> Server<Stack<StreamLayer, Identity>> {
    let declared = ToolDeclaration { supports_checkpoint: true, ..ToolDeclaration::default() };
    Server::new(name, "1.0.0")
        .sealing_key(SealingKey::new([7; 32]))
        .tool(Tool::new("export", "Exports rows.").declare(declared.clone()).task(TaskMode::Optional), export)
        .tool(Tool::new("other", "Exports rows, too.").declare(declared.clone()), export)
        .tool(Tool::new("slow", "Takes its time.").declare(declared), slow)
        .tool(Tool::new("report", "Reports what it is told."), async |asked: Report, cx: Cx| {
            cx.progress(asked.progress, asked.total, None).await;
        })
        .tool(Tool::new("plain", "Has no checkpoints."), async || "plain")
        .streaming()
}

/// Connects as a client that takes parts of results, and declares these extensions.
async fn client(name: &str, era: Era, extensions: &[&str]) -> Peer {
    Peer::silent(server(name), era, speaking(era, &["streaming"], extensions)).await
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

async fn report(peer: &mut Peer) -> Value {
    let (method, report) = peer.next_notification().await;
    assert_eq!(method, "notifications/mgp.stream.progress", "{report}");
    report
}

// covers: EXT-08-01, EXT-08-02, EXT-08-07
#[tokio::test(start_paused = true)]
async fn parts_are_numbered_by_one_and_reports_name_the_operation_its_share_its_step_and_its_time() {
    for era in Era::BOTH {
        let mut peer = client("exports", era, &[REPORTS, CHECKPOINTS]).await;
        let mut operations = Vec::new();
        for _ in 0..2 {
            call(&mut peer, "slow", json!({}), &Value::Null).await.unwrap();
            let mut before = u64::MAX;
            for row in 1..=4_u32 {
                let (method, part) = peer.next_notification().await;
                assert_eq!((&*method, &part["index"]), ("notifications/mgp.stream.chunk", &json!(row - 1)));
                assert_ne!(part["done"], true, "the last part is not known to be it: {part}");
                assert!(part["checkpoint_token"].is_string(), "{part}");
                let progress = report(&mut peer).await;
                assert_eq!(progress["type"], "progress");
                assert_eq!(progress["progress"], f64::from(row) / 4.0);
                assert_eq!(progress["message"], format!("Processing row {row} of 4"));
                assert_eq!(progress["partial_result"], json!({"rows": row}));
                let millis = progress["estimated_remaining_ms"].as_u64().unwrap();
                assert_eq!(progress["estimated_remaining_seconds"], millis.div_ceil(1000), "{progress}");
                assert!(millis < before && (millis == 0) == (row == 4), "{progress}");
                before = millis;
                operations
                    .extend([part, progress].map(|told| told["operation_id"].as_str().unwrap().to_owned()));
            }
        }
        operations.dedup();
        assert_eq!(operations.len(), 2, "each call is an operation of its own: {operations:?}");
    }
}

// covers: EXT-08-01
#[tokio::test]
async fn a_share_outside_of_nought_and_one_is_not_reported() {
    for era in Era::BOTH {
        let mut peer = client("exports", era, &[REPORTS]).await;
        for outside in [
            json!({"progress": -0.5}),
            json!({"progress": 1.5}),
            json!({"progress": -1, "total": 4}),
            json!({"progress": 3, "total": 0}),
            json!({"progress": 3, "total": -4}),
        ] {
            peer.tool("report", outside).await.unwrap();
        }
        for (inside, expected) in [
            (json!({"progress": 0}), 0.0),
            (json!({"progress": 0.5}), 0.5),
            (json!({"progress": 4, "total": 4}), 1.0),
            // More than was expected is all of it.
            (json!({"progress": 5, "total": 4}), 1.0),
        ] {
            peer.tool("report", inside.clone()).await.unwrap();
            let report = report(&mut peer).await;
            assert_eq!(report["progress"], expected, "{inside}");
            assert!(
                report["operation_id"].is_string() && report.get("checkpoint_token").is_none(),
                "{report}"
            );
        }
        peer.told_nothing().await;
    }
}

// covers: EXT-08-04
#[tokio::test]
async fn checkpoints_are_declared_and_a_tool_without_them_says_so() {
    for era in Era::BOTH {
        let mut peer = client("exports", era, &[CHECKPOINTS]).await;
        assert_eq!(peer.listed("export").await["supports_checkpoint"], true);
        assert_eq!(peer.listed("plain").await.get("supports_checkpoint"), None);
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
        let mut peer = client("exports", era, &[CHECKPOINTS]).await;
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
        let mut elsewhere = client("mail", era, &[CHECKPOINTS]).await;
        assert_eq!(refused(&mut elsewhere, "export", arguments.clone(), &resume).await, invalid);
        // Another instance with the same key and name goes on, and the arguments may be written in another order.
        let mut instance = client("exports", era, &[CHECKPOINTS]).await;
        let reordered = json!({"breaks_at": 1, "rows": 3});
        assert!(call(&mut instance, "export", reordered, &resume).await.is_ok());
        tokio::time::advance(Duration::from_secs(901)).await;
        assert_eq!(refused(&mut peer, "export", arguments, &resume).await, code::CHECKPOINT_EXPIRED);
    }
}

#[tokio::test]
async fn a_client_that_knows_no_checkpoints_is_told_of_none() {
    for era in Era::BOTH {
        let mut peer = client("exports", era, &[]).await;
        call(&mut peer, "export", json!({"rows": 3}), &Value::Null).await.unwrap();
        // A part and a report of progress for each row.
        let (parts, resume) = received_parts(&mut peer, 6).await;
        assert_eq!((parts, resume), (expected(0..3), Value::Null));
        peer.told_nothing().await;
    }
}

/// Waits until the task has its result, and returns its text.
async fn result_of(peer: &mut Peer, created: &Value) -> String {
    if peer.era == Era::Session {
        let id = &created["task"]["taskId"];
        let result = peer.call("tasks/result", json!({"taskId": id})).await.unwrap();
        return result["content"][0]["text"].as_str().unwrap().to_owned();
    }
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    loop {
        let task = peer.call("tasks/get", json!({"taskId": created["taskId"]})).await.unwrap();
        if task["status"] == "completed" {
            assert_eq!(task["statusMessage"], "Exporting");
            return task["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        }
        assert!(tokio::time::Instant::now() < deadline, "{task}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// covers: EXT-08-06
#[tokio::test]
async fn a_call_in_parts_that_broke_goes_on_as_a_task() {
    for era in Era::BOTH {
        // A task has the parts together, and its client is told of none.
        let mut patient = client("exports", era, &[CHECKPOINTS, "io.modelcontextprotocol/tasks"]).await;
        let mut as_task = json!({"name": "export", "arguments": {"rows": 3, "breaks_at": null}, "task": {},
            "_mgp": {"stream": true}, "_meta": {}});
        let created = patient.call("tools/call", as_task.clone()).await.unwrap();
        assert_eq!(result_of(&mut patient, &created).await, "row 0\nrow 1\nrow 2\n");

        // The parts of a call, and behind the checkpoint of the last of them those of a task.
        let mut peer = client("exports", era, &[REPORTS, CHECKPOINTS]).await;
        as_task["arguments"]["breaks_at"] = json!(2);
        let broken = call(&mut peer, "export", as_task["arguments"].clone(), &Value::Null).await.unwrap_err();
        assert_eq!(broken.code(), code::UPSTREAM_UNAVAILABLE);
        // Two parts, the checkpoint behind the second one, and a report of progress for each.
        let (parts, resume) = received_parts(&mut peer, 5).await;
        assert_eq!(parts, expected(0..2));
        as_task["_meta"]["resume"] = resume;
        let created = patient.call("tools/call", as_task).await.unwrap();
        assert_eq!(result_of(&mut patient, &created).await, "row 2\n", "each part once");
        while let Some((method, params)) = patient.told_already() {
            assert_ne!(method, "notifications/mgp.stream.chunk", "{params}");
        }
    }
}
