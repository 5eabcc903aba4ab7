//! The cost of streaming, with the SDKs at both ends. `cargo xtask bench --only stream` runs it, and says what to
//! expect.
//!
//! ```text
//! bench_stream memory CHUNKS       both ends in this process; prints chunks a second
//! bench_stream stdio CHUNKS        the server in a process of its own; prints chunks a second
//! bench_stream stopped SECONDS     nothing is read after the first chunk; prints the KiB that this takes in the first
//!                                  second, and after it
//! bench_stream calls PEERS CALLS   calls of a tool that streams nothing, to be counted from outside
//! bench_stream serve               the server of `stdio`
//! ```
//!
//! PEERS are `without`: the server does not stream; `plain`: it does, and the client speaks plain MCP; `streaming`: both
//! agreed on it, and the calls do not ask for it.

#![expect(clippy::print_stdout, reason = "the figures are what it is run for")]

use std::process::exit;
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder, StreamPart};
use mgp_server_sdk::{Cx, Server, ServerCore, Tool, ToolError};
use mgp_transport::memory;
use mgp_types::RpcService;
use mgp_types::mgp::{Extension, Offer};
use serde_json::json;
use tokio::time::Instant;
use tower_layer::Layer;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Parts {
    /// The number of parts to stream.
    chunks: u64,
}

async fn stream(Parts { chunks }: Parts, cx: Cx) -> Result<(), ToolError> {
    for _ in 0..chunks {
        cx.stream(TEXT).await?;
    }
    Ok(())
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

fn server() -> Server {
    Server::new("bench", env!("CARGO_PKG_VERSION"))
        .tool(Tool::new("stream", "Streams parts of 32 bytes."), stream)
        .tool(Tool::new("echo", "Returns the text it was given."), async |Echo { text }: Echo| text)
}

fn plain_client() -> ClientBuilder {
    Client::builder("bench", env!("CARGO_PKG_VERSION"))
}

fn client() -> ClientBuilder {
    plain_client().mgp(Offer::new([Extension::Streaming]))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["memory", chunks] => over_memory(chunks.parse()?).await,
        ["stdio", chunks] => over_stdio(chunks.parse()?).await,
        ["stopped", seconds] => stopped(Duration::from_secs(seconds.parse()?)).await,
        ["calls", "without", calls] => calls_of(server(), plain_client(), calls.parse()?).await,
        ["calls", "plain", calls] => calls_of(server().streaming(), plain_client(), calls.parse()?).await,
        ["calls", "streaming", calls] => calls_of(server().streaming(), client(), calls.parse()?).await,
        ["serve"] => Ok(server().streaming().serve_stdio().await?),
        _ => {
            eprintln!("usage: bench_stream memory N | stdio N | stopped SECONDS | calls PEERS N | serve");
            exit(2);
        }
    }
}

async fn over_memory(chunks: u64) -> Result<(), Failed> {
    read(&in_memory(server().streaming(), client()).await?, chunks).await
}

async fn over_stdio(chunks: u64) -> Result<(), Failed> {
    let client = client().connect_stdio(std::env::current_exe()?, ["serve"]).await?;
    read(&client, chunks).await?;
    client.close().await?;
    Ok(())
}

/// Reads so many chunks of one call, and prints how many a second.
async fn read<S: RpcService>(client: &Client<S>, chunks: u64) -> Result<(), Failed> {
    let started = Instant::now();
    let mut call = client.call_tool("stream", json!({ "chunks": chunks })).stream()?;
    let mut read = 0;
    while let Some(part) = call.next().await {
        match part {
            StreamPart::Chunk(chunk) if chunk.content.as_text() == Some(TEXT) => read += 1,
            other => return Err(format!("not what was streamed: {other:?}").into()),
        }
    }
    call.finish().await?;
    if read != chunks {
        return Err(format!("{read} chunks were read, and {chunks} streamed").into());
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of chunks")]
    let rate = chunks as f64 / started.elapsed().as_secs_f64();
    println!("{rate:.0}");
    Ok(())
}

/// Takes one chunk of a call that streams for ever, and no other; prints how much more memory that took at first, while
/// queues fill, and then.
async fn stopped(time: Duration) -> Result<(), Failed> {
    let client = in_memory(server().streaming(), client()).await?;
    let mut call = client.call_tool("stream", json!({ "chunks": u64::MAX })).stream()?;
    call.next().await.ok_or("nothing was streamed")?;
    let before = most_resident_kib()?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let filled = most_resident_kib()?;
    tokio::time::sleep(time.saturating_sub(Duration::from_secs(1))).await;
    println!("{} {}", filled - before, most_resident_kib()? - filled);
    Ok(())
}

/// Makes calls that stream nothing, one after the other.
async fn calls_of<L, S>(server: Server<L>, client: ClientBuilder, calls: u64) -> Result<(), Failed>
where
    L: Layer<ServerCore, Service = S> + Send + 'static,
    S: RpcService + Sync + Unpin,
{
    let client = in_memory(server, client).await?;
    for _ in 0..calls {
        client.call_tool("echo", json!({ "text": TEXT })).await?;
    }
    Ok(())
}

async fn in_memory<L, S>(server: Server<L>, client: ClientBuilder) -> Result<Client<impl RpcService>, Failed>
where
    L: Layer<ServerCore, Service = S> + Send + 'static,
    S: RpcService + Sync + Unpin,
{
    let (near, far) = memory::pair(BUFFER_BYTES);
    tokio::spawn(server.serve_io(far.0, far.1));
    Ok(client.connect_io(near.0, near.1).await?)
}

/// Returns the most memory that this process ever had, as Linux tells it.
fn most_resident_kib() -> Result<u64, Failed> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(most.and_then(|most| most.strip_suffix("kB")).ok_or("the system does not tell")?.trim().parse()?)
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// The text of a chunk: 32 bytes.
const TEXT: &str = "Quantum computing is a paradigm ";
const BUFFER_BYTES: usize = 64 << 10;
