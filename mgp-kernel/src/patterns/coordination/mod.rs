//! The coordinator: it gives tasks to agents, and collects their results.

use clap::Args;
use mgp_server_sdk::Server;

/// The options of `mgp server coordination`.
#[derive(Debug, Args)]
pub(crate) struct CoordinationServerArgs {}

/// Serves the coordinator on standard input and output.
///
/// # Errors
/// Fails if the connection broke.
pub(super) async fn serve(CoordinationServerArgs {}: CoordinationServerArgs) -> anyhow::Result<()> {
    Ok(server().serve_stdio().await?)
}

fn server() -> Server {
    Server::new("coordination", env!("CARGO_PKG_VERSION"))
}
