//! The duties of a connection to both its sides: matching answers, order, and patience.

use std::time::Duration;

use futures_util::FutureExt;
use mgp_client_sdk::Client;
use mgp_server_sdk::{Cx, Server, Tool as Described};
use mgp_transport::ConnectionLimits;
use mgp_types::Revision;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::frames;
use crate::guest::Tool;
use crate::peer::Process;
use crate::pipe::Pipe;
use crate::play::connect;
use crate::runner::{left_over, tasks};
use crate::turn::Act;
use crate::visit::{INITIALIZE, call, serve, server};

/// A request that was taken back must not end the next one under its id, whose work would then be nobody's.
#[tokio::test(start_paused = true)]
async fn an_id_that_is_used_again_after_a_cancel_is_that_of_the_new_call() {
    let before = tasks();
    let Pipe { near, mut far } = Pipe::new(64 << 10);
    serve(&server().accept().unwrap(), near, ConnectionLimits::default());
    let era = Revision::V2026_07_28;
    let cancel = frames::note("notifications/cancelled", &json!({"requestId": 5}));
    let again = Tool::Later(Duration::from_millis(50));
    let all = [call(era, 5, 1, Tool::Hang), cancel, call(era, 5, 2, again)].concat();
    far.writer.write_all(&all).await.unwrap();
    let mut lines = BufReader::new(far.reader).lines();
    let answer: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "2", "{answer}");
    drop((lines, far.writer));
    assert_eq!(left_over(before).await, 0);
}

/// The same, seen from the outside: tasks that no limit counts and that outlive their connection.
#[tokio::test(start_paused = true)]
async fn no_work_outlives_its_connection_after_a_cancel_and_the_same_id_again() {
    let before = tasks();
    let Pipe { near, mut far } = Pipe::new(64 << 10);
    serve(&server().accept().unwrap(), near, ConnectionLimits::default());
    let era = Revision::V2026_07_28;
    let cancel = frames::note("notifications/cancelled", &json!({"requestId": 5}));
    for _ in 0..10 {
        let all = [call(era, 5, 1, Tool::Hang), cancel.clone(), call(era, 5, 2, Tool::Hang)].concat();
        far.writer.write_all(&all).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(far);
    assert_eq!(left_over(before).await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_says_comes_before_its_answer_however_much_there_is() {
    let said = Described::new("say", "Says something first.");
    let server = Server::new("host", "1").tool(said, async |cx: Cx| {
        tokio::time::sleep(Duration::from_millis(10)).await;
        cx.progress(1.0, None, None).await;
        "done".to_owned()
    });
    let Pipe { near, mut far } = Pipe::new(1 << 20);
    serve(&server.accept().unwrap(), near, ConnectionLimits::default());
    far.writer.write_all(INITIALIZE.as_bytes()).await.unwrap();
    for id in 0..200 {
        let params = json!({"name": "say", "_meta": {"progressToken": id}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        far.writer.write_all(&frames::line(&call)).await.unwrap();
    }
    let mut lines = BufReader::new(far.reader).lines();
    let mut reported = std::collections::HashSet::new();
    for _ in 0..401 {
        let message: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        if let Some(token) = message["params"]["progressToken"].as_i64() {
            reported.insert(token);
        } else if let Some(id) = message["id"].as_i64() {
            assert!(
                reported.contains(&id),
                "the answer to {id} came before what was said; {} told",
                reported.len()
            );
        }
    }
}

/// MCP 2025-03-26: implementations MUST support receiving JSON-RPC batches.
#[tokio::test(start_paused = true)]
async fn a_client_reads_batches_in_the_one_revision_that_has_them() {
    let Pipe { near, far } = Pipe::new(64 << 10);
    let mut writer = far.writer;
    tokio::spawn(async move {
        let mut lines = BufReader::new(far.reader).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            let message: Value = serde_json::from_str(&line).unwrap();
            let id = &message["id"];
            let reply = match message["method"].as_str() {
                Some("initialize") => frames::result(
                    id,
                    &json!({"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}),
                ),
                Some("tools/call") => frames::line(&json!([
                    {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
                    {"jsonrpc": "2.0", "id": id, "result": frames::echo(0, 0)},
                ])),
                _ if !id.is_null() => frames::line(
                    &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}),
                ),
                _ => continue,
            };
            writer.write_all(&reply).await.unwrap();
        }
    });
    let client = Client::builder("tester", "1").connect_io(near.0, near.1).await.unwrap();
    assert_eq!(client.revision(), Some(Revision::V2025_03_26));
    assert!(client.call_tool("echo", ()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_is_waited_for() {
    let server =
        Server::new("host", "1").tool(Described::new("blob", "Is large."), async || "x".repeat(1 << 20));
    let Pipe { near, far } = Pipe::new(16 << 10);
    serve(&server.accept().unwrap(), near, ConnectionLimits::default());
    let (mut reader, mut writer) = (far.reader, far.writer);
    writer.write_all(INITIALIZE.as_bytes()).await.unwrap();
    writer
        .write_all(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"blob\"}}\n",
        )
        .await
        .unwrap();
    let (mut read, mut piece) = (0, vec![0; 8 << 10]);
    while read < 1 << 20 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let some = reader.read(&mut piece).await.unwrap();
        assert!(some > 0, "given up after {read} bytes");
        read += some;
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_wait_as_long_as_a_duration_can_say() {
    let Pipe { near, mut far } = Pipe::new(1 << 10);
    let mut limits = ConnectionLimits::default();
    limits.write_timeout = Duration::MAX;
    serve(&server().accept().unwrap(), near, limits);
    for id in 0..100 {
        far.writer.write_all(&call(Revision::V2026_07_28, id, 1, Tool::Echo)).await.unwrap();
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn all_of_many_calls_that_are_dropped_at_once_are_taken_back() {
    for era in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let process = Process::acting(era, &[Act::Hang; 200]);
        let client = connect(process.open(0)).await.unwrap();
        for nonce in 0..200 {
            let call = client.call_tool("echo", json!({"nonce": nonce}));
            assert!(call.into_future().now_or_never().is_none());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let record = process.record();
        let sent: Vec<_> = record.calls.values().flatten().collect();
        assert!(
            sent.iter().all(|key| record.cancelled.contains_key(key)),
            "{} sent, {} taken back",
            sent.len(),
            record.cancelled.len()
        );
    }
}
