//! Reports of progress in the words of `progress_notifications`, and long calls beside tasks.

use std::sync::Arc;
use std::time::Duration;

use crate::peer::{Era, Peer, speaking};
use mgp_server_sdk::types::code;
use mgp_server_sdk::types::ext::ToolDeclaration;
use mgp_server_sdk::types::{Error, RpcService};
use mgp_server_sdk::{Cx, Object, SealingKey, Server, ServerAccept, TaskMode, Tool, ToolError, schemars};
use serde_json::{Value, json};

const REPORTS: &str = "progress_notifications";
const CHECKPOINTS: &str = "streaming";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Report {
    progress: f64,
    total: Option<f64>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Export {
    /// The row at which the call breaks, unless it goes on from another call.
    breaks_at: Option<u32>,
}

/// Counts rows, half a second for each.
async fn count(cx: Cx) -> Result<&'static str, ToolError> {
    for row in 1..=4_u32 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let so_far = Object::from_value(&json!({"rows": row}))?;
        let message = format!("Processing row {row} of 4");
        cx.progress_with_result(row.into(), Some(4.0), Some(&message), &so_far).await;
    }
    Ok("done")
}

/// Makes three rows, with a checkpoint behind each.
async fn export(Export { breaks_at }: Export, cx: Cx) -> Result<(), ToolError> {
    let resumed: Option<u32> = cx.resumed_from()?;
    for row in resumed.unwrap_or(0)..3 {
        if resumed.is_none() && breaks_at == Some(row) {
            return Err(Error::new(code::UPSTREAM_UNAVAILABLE, "the line broke").into());
        }
        cx.stream_with_checkpoint(format!("row {row};"), &(row + 1)).await?;
        cx.progress(f64::from(row + 1), Some(3.0), Some("Exporting")).await;
    }
    Ok(())
}

fn accept() -> ServerAccept<impl RpcService + Sync + Unpin> {
    let declared = ToolDeclaration { supports_checkpoint: true, ..ToolDeclaration::default() };
    Server::new("exports", "1.0.0")
        .sealing_key(SealingKey::new([7; 32]))
        .tool(Tool::new("count", "Counts rows."), count)
        .tool(Tool::new("report", "Reports what it is told."), async |asked: Report, cx: Cx| {
            cx.progress(asked.progress, asked.total, None).await;
        })
        .tool(Tool::new("export", "Exports rows.").declare(declared).task(TaskMode::Optional), export)
        .streaming()
        .accept()
        .unwrap()
}

/// Connects as a client that takes parts of results, and declares these extensions.
async fn connect<S: RpcService + Sync + Unpin>(accept: &ServerAccept<S>, era: Era, names: &[&str]) -> Peer {
    Peer::connect(accept, era, speaking(era, &["streaming"], names), Arc::new(|_, _| Value::Null)).await
}

async fn report(peer: &mut Peer) -> Value {
    let (method, report) = peer.next_notification().await;
    assert_eq!(method, "notifications/mgp.stream.progress", "{report}");
    report
}

// covers: EXT-08-01, EXT-08-07
#[tokio::test(start_paused = true)]
async fn a_report_names_its_operation_its_share_its_step_and_what_there_is_so_far() {
    for era in Era::BOTH {
        let accept = accept();
        let mut peer = connect(&accept, era, &[REPORTS]).await;
        let mut operations = Vec::new();
        for _ in 0..2 {
            peer.tool("count", json!({})).await.unwrap();
            for row in 1..=4_u32 {
                let progress = report(&mut peer).await;
                assert_eq!(progress["type"], "progress");
                assert_eq!(progress["progress"], f64::from(row) / 4.0);
                assert_eq!(progress["message"], format!("Processing row {row} of 4"));
                assert_eq!(progress["partial_result"], json!({"rows": row}));
                let millis = progress["estimated_remaining_ms"].as_u64().unwrap();
                assert_eq!(progress["estimated_remaining_seconds"], millis.div_ceil(1000), "{progress}");
                assert_eq!(millis == 0, row == 4, "{progress}");
                assert_eq!(progress.get("checkpoint_token"), None, "the client does not know checkpoints");
                operations.push(progress["operation_id"].as_str().unwrap().to_owned());
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
        let accept = accept();
        let mut peer = connect(&accept, era, &[REPORTS]).await;
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
            assert_eq!(report(&mut peer).await["progress"], expected, "{inside}");
        }
        peer.told_nothing().await;
    }
}

// covers: EXT-08-01
#[tokio::test]
async fn a_report_and_a_part_of_one_call_name_one_operation_and_where_to_go_on() {
    for era in Era::BOTH {
        let accept = accept();
        let mut peer = connect(&accept, era, &[REPORTS, CHECKPOINTS]).await;
        let params = json!({"name": "export", "arguments": {}, "_mgp": {"stream": true}});
        peer.call("tools/call", params).await.unwrap();
        let mut operations = Vec::new();
        for row in 0..3_u64 {
            let (method, part) = peer.next_notification().await;
            assert_eq!((method.as_str(), &part["index"]), ("notifications/mgp.stream.chunk", &json!(row)));
            assert!(part["checkpoint_token"].is_string(), "{part}");
            let progress = report(&mut peer).await;
            operations.extend([part["operation_id"].clone(), progress["operation_id"].clone()]);
        }
        operations.dedup();
        assert_eq!(operations.len(), 1, "{operations:?}");
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
        let accept = accept();
        let call = |breaks_at: Value, more: Value| {
            let mut params = json!({"name": "export", "arguments": {"breaks_at": breaks_at}, "_meta": {}});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            params
        };
        // A task has the parts together, and its client is told of none.
        let mut patient = connect(&accept, era, &[CHECKPOINTS, "io.modelcontextprotocol/tasks"]).await;
        let as_task = json!({"task": {}, "_mgp": {"stream": true}});
        let created = patient.call("tools/call", call(Value::Null, as_task.clone())).await.unwrap();
        assert_eq!(result_of(&mut patient, &created).await, "row 0;row 1;row 2;");

        // The parts of a call, and behind the checkpoint of the last of them those of a task.
        let mut peer = connect(&accept, era, &[REPORTS, CHECKPOINTS]).await;
        let in_parts = json!({"_mgp": {"stream": true}});
        let broken = peer.call("tools/call", call(json!(2), in_parts)).await.unwrap_err();
        assert_eq!(broken.code(), code::UPSTREAM_UNAVAILABLE);
        let (mut whole, mut resume) = (String::new(), Value::Null);
        for _ in 0..2 {
            let (_, part) = peer.next_notification().await;
            whole.push_str(part["content"]["text"].as_str().unwrap());
            report(&mut peer).await;
            resume = json!({
                "operation_id": part["operation_id"], "checkpoint_token": part["checkpoint_token"],
            });
        }
        let mut going_on = call(json!(2), as_task);
        going_on["_meta"]["resume"] = resume;
        let created = patient.call("tools/call", going_on).await.unwrap();
        whole.push_str(&result_of(&mut patient, &created).await);
        assert_eq!(whole, "row 0;row 1;row 2;", "each part once");
        while let Some((method, params)) = patient.told_already() {
            assert_ne!(method, "notifications/mgp.stream.chunk", "{params}");
        }
    }
}
