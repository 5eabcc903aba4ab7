//! The kernel as a library: one address in front of the servers of a configuration.
//!
//! ```text
//! cargo run -p mgp-kernel --example gateway -- STATE key AGENT              makes a key, and prints it
//! cargo run -p mgp-kernel --example gateway -- STATE serve mgp.toml PORT    serves http://127.0.0.1:PORT/mcp
//! ```

#![expect(clippy::print_stdout, reason = "the key is what it is run for")]

use std::path::PathBuf;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_kernel::Kernel;
use mgp_security::auth::{KeyRequest, KeyRing, SqliteKeyStore};
use mgp_security::sqlite::Database;
use mgp_types::Principal;
use mgp_types::mgp::ShutdownReason;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [state, "key", agent] => key(state.into(), agent).await,
        [state, "serve", file, port] => serve(state.into(), file.into(), port.parse()?).await,
        _ => anyhow::bail!("gateway STATE key AGENT, or gateway STATE serve mgp.toml PORT"),
    }
}

/// Keys are made while no kernel runs: whoever opens the database holds its lock.
async fn key(state: PathBuf, agent: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(&state)?;
    let ring = KeyRing::open(SqliteKeyStore::new(Database::open(&state.join("mgp.db"))?)?)?;
    let (_, key) = ring.issue(KeyRequest::new(Principal::new(agent))).await?;
    println!("{}", key.expose());
    Ok(())
}

async fn serve(state: PathBuf, file: PathBuf, port: u16) -> anyhow::Result<()> {
    let (config, warnings) = Config::parse(&file, &std::fs::read_to_string(&file)?)?;
    for warning in warnings {
        eprintln!("{warning}");
    }
    let socket = TcpListener::bind(("127.0.0.1", port)).await?;
    let kernel = Kernel::start(config, state).await?;
    let interrupted = async {
        // Without a way to be interrupted it serves until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    };
    kernel.serve_http(socket, interrupted).await?;
    kernel.shutdown(ShutdownReason::OperatorRequest, Duration::from_secs(5)).await;
    Ok(())
}
