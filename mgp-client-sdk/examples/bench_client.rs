//! The cost of a call on the client's side: `bench_client CALLS CONCURRENCY [2026]`, against a thin peer in the same
//! process and on the same thread. `none` as the fourth argument stops after the handshake.

use std::process::exit;

use mgp_client_sdk::{Client, EraMode, Error};
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Instant;

#[derive(Serialize)]
struct Echo {
    text: &'static str,
}

const ECHO: Echo = Echo { text: "The quick brown fox jumps over the lazy dog." };

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = |default: usize| args.next().map_or(default, |arg| arg.parse().unwrap_or(default));
    let (calls, concurrency) = (number(10_000), number(1).max(1));
    let stateless = args.next().is_some_and(|arg| arg == "2026");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        runtime.block_on(run(calls, concurrency, stateless)).map_err(|error| error.to_string())
    });
    if let Err(error) = outcome {
        eprintln!("{error}");
        exit(1);
    }
}

async fn run(calls: usize, concurrency: usize, stateless: bool) -> Result<(), Error> {
    let (near, far) = tokio::io::duplex(1 << 20);
    let peer = tokio::spawn(answer(far));
    let (reader, writer) = tokio::io::split(near);
    let mode = if stateless { EraMode::Stateless } else { EraMode::Session };
    let client = Client::builder("bench", "1.0.0").era(mode).connect_io(reader, writer).await?;
    let started = Instant::now();
    let tasks: Vec<_> = (0..concurrency)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..calls / concurrency {
                    client.call_tool("echo", &ECHO).await?;
                }
                Ok::<_, Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await.map_err(|error| Error::internal("a caller broke").with_source(error))??;
    }
    let seconds = started.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a count of calls")]
    let per_call = seconds * 1e6 / calls.max(1) as f64;
    eprintln!("{calls} calls, {concurrency} at once: {per_call:.2} us per call");
    client.close().await?;
    peer.abort();
    Ok(())
}

/// Answers every request; finds the id by searching the text, and parses nothing.
async fn answer(mut stream: DuplexStream) {
    let mut buffer = Vec::with_capacity(1 << 16);
    let mut out = Vec::with_capacity(1 << 16);
    while stream.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {
        let mut start = 0;
        while let Some(length) = buffer[start..].iter().position(|byte| *byte == b'\n') {
            reply(std::str::from_utf8(&buffer[start..start + length]).unwrap_or_default(), &mut out);
            start += length + 1;
        }
        buffer.drain(..start);
        if stream.write_all(&out).await.is_err() {
            return;
        }
        out.clear();
    }
}

fn reply(line: &str, out: &mut Vec<u8>) {
    let Some((_, rest)) = line.split_once("\"id\":") else { return };
    let id = rest.split([',', '}']).next().unwrap_or_default();
    let result = if line.contains("\"tools/call\"") {
        r#"{"content":[{"type":"text","text":"The quick brown fox jumps over the lazy dog."}],"isError":false}"#
    } else if line.contains("\"initialize\"") {
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"thin","version":"0"}}"#
    } else {
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#
    };
    for part in ["{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"result\":", result, "}\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}
