//! The audit service: it keeps the events that a kernel records, and searches, counts and exports them.

use clap::Args;
use mgp_server_sdk::Server;
use mgp_types::mgp::{Extension, Offer};

/// The options of `mgp server audit`.
#[derive(Debug, Args)]
pub(crate) struct AuditServerArgs {}

/// Serves the audit service on standard input and output.
///
/// # Errors
/// Fails if the connection broke.
pub(super) async fn serve(AuditServerArgs {}: AuditServerArgs) -> anyhow::Result<()> {
    Ok(server().serve_stdio().await?)
}

fn server() -> Server {
    Server::new("audit", env!("CARGO_PKG_VERSION")).mgp(Offer::new(Extension::Audit))
}
