//! Keeps a server alive, and streams a call of it: `cargo run --example supervise -- path/to/streaming`.

use std::time::Duration;

use mgp_client_sdk::mgp::{Extension, Offer, ShutdownReason};
use mgp_client_sdk::{Client, Error, RestartSettings, StreamPart, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let Some(program) = std::env::args().nth(1) else {
        return Err(Error::invalid_request("say which server to start: supervise path/to/server"));
    };
    let connect = move || {
        let offer = Offer::new([Extension::Streaming, Extension::Lifecycle, Extension::Bidirectional]);
        Client::builder("supervise", "1.0.0").mgp(offer).connect_stdio(program.clone(), [""; 0])
    };
    let server = Client::supervise("demo.counter", connect).with_restarts(RestartSettings::default()).spawn();
    let mut changes = server.changes();
    tokio::spawn(async move {
        while let Some(change) = changes.next().await {
            eprintln!("{}: {} -> {}", change.server_id, change.previous_state, change.new_state);
        }
    });

    server.start();
    let client = server.ready(Duration::from_secs(20)).await?;
    let mut counting = client.call_tool("count", json!({"to": 5})).stream()?;
    while let Some(part) = counting.next().await {
        if let StreamPart::Chunk(chunk) = part {
            eprintln!("part {}: {:?}", chunk.index, chunk.content.as_text().unwrap_or_default());
        }
    }
    let counted = counting.finish().await?;
    eprintln!("result: {:?}", counted.content.first().and_then(|block| block.as_text()));
    eprintln!("health: {}", client.health().await?.status);

    server.stop(ShutdownReason::OperatorRequest, Duration::from_secs(5)).await;
    Ok(())
}
