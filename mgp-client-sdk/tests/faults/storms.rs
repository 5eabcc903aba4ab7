//! More of one thing than a client has room for.

use std::time::Duration;

use futures_util::FutureExt;
use mgp_client_sdk::{Change, Client};
use mgp_transport::ConnectionLimits;
use mgp_types::mcp::SubscriptionFilter;
use mgp_types::{Origin, Revision};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::time::Instant;

use crate::frames;
use crate::peer::Process;
use crate::pipe::Pipe;
use crate::play::{PlainClient, connect};
use crate::runner::{left_over, tasks};
use crate::turn::{Act, Noise};

const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Returns a client with usual limits but for long frames, and the server's end of its connection after the handshake.
async fn by_hand(era: Revision) -> (PlainClient, BufReader<DuplexStream>, DuplexStream) {
    let Pipe { near, far } = Pipe::new(64 << 10);
    let mut reader = BufReader::new(far.reader);
    let mut writer = far.writer;
    let answering = async {
        let mut line = String::new();
        loop {
            line.clear();
            reader.read_line(&mut line).await.unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if let Some(method) = message["method"].as_str()
                && !message["id"].is_null()
            {
                writer.write_all(&frames::handshake(era, &message["id"], method)).await.unwrap();
            }
        }
    };
    let mut limits = ConnectionLimits::default();
    (limits.max_frame_bytes, limits.max_skipped_bytes) = (4 << 20, 16 << 20);
    let connecting = Client::builder("tester", "1.0.0").limits(limits).connect_io(near.0, near.1);
    let client = tokio::select! {
        client = connecting => client.unwrap(),
        () = answering => unreachable!("it answers until the client is connected"),
    };
    (client, reader, writer)
}

/// Writes `bytes` again and again until the client takes no more, at most so many in all. How many it took.
async fn pour(writer: &mut DuplexStream, bytes: &[u8], most: usize) -> usize {
    let mut taken = 0;
    while taken < most {
        match tokio::time::timeout(Duration::from_secs(1), writer.write(bytes)).await {
            Ok(Ok(written)) => taken += written,
            Ok(Err(_)) | Err(_) => break,
        }
    }
    taken
}

#[tokio::test(start_paused = true)]
async fn of_ten_thousand_changes_that_nobody_takes_a_few_are_kept() {
    for era in ERAS {
        let process = Process::acting(era, &[Act::After(Noise::Storm(10_000))]);
        let client = connect(process.open(0)).await.unwrap();
        let filter = SubscriptionFilter::new().with_tools_list_changed(true).with_prompts_list_changed(true);
        let mut changes = client.subscribe(filter).await.unwrap();
        client.call_tool("echo", json!({"nonce": 0})).await.unwrap();
        let mut kept = Vec::new();
        while let Some(change) = changes.next().now_or_never() {
            kept.push(change.unwrap().unwrap());
        }
        assert!(kept.contains(&Change::Missed) && kept.len() <= 256, "{}", kept.len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_without_end_is_given_up_after_a_part_of_it() {
    for era in ERAS {
        let before = tasks();
        let (client, _reader, mut writer) = by_hand(era).await;
        let call = tokio::spawn(client.call_tool("echo", json!({"nonce": 0})).into_future());
        let taken = pour(&mut writer, &vec![b'x'; 64 << 10], 64 << 20).await;
        assert!(taken < 21 << 20, "{taken}");
        assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Connection);
        drop(client);
        assert_eq!(left_over(before).await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_and_does_not_read_is_not_read_from() {
    for era in ERAS {
        let before = tasks();
        let (client, reader, mut writer) = by_hand(era).await;
        let call = client.call_tool("echo", json!({"nonce": 0})).timeout(Duration::from_mins(5));
        let (call, started) = (tokio::spawn(call.into_future()), Instant::now());
        let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}
"#;
        let taken = pour(&mut writer, &ping.repeat(1000), 64 << 20).await;
        assert!(taken < 4 << 20, "{taken}");
        assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Connection);
        assert!(started.elapsed() <= Duration::from_mins(2));
        drop((client, reader));
        assert_eq!(left_over(before).await, 0);
    }
}
