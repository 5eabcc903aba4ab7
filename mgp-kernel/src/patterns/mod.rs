//! The servers that the program carries: one for each application pattern of the specification (§10).
//!
//! Each is a small program on `mgp-server-sdk`, made to be read and copied. `docs/patterns` describes them.

mod audit;
mod context;
mod coordination;
mod federation;

use clap::Subcommand;

/// A server that the program carries, with its options.
#[derive(Debug, Subcommand)]
pub(crate) enum PatternServer {
    /// Keep audit events, and search, count and export them
    Audit(audit::AuditServerArgs),
    /// Summarize texts, find facts in them, and keep memories
    Context(context::ContextServerArgs),
    /// Give tasks to agents, and collect their results
    Coordination,
    /// Call and search the tools of kernels elsewhere
    Federation(federation::FederationServerArgs),
}

impl PatternServer {
    /// Serves on standard input and output, until the client is gone.
    ///
    /// # Errors
    /// Fails if the server cannot be set up as its options say, or if the connection broke.
    pub(crate) async fn serve(self) -> anyhow::Result<()> {
        match self {
            Self::Audit(args) => audit::serve(args).await,
            Self::Context(args) => context::serve(args).await,
            Self::Coordination => coordination::serve().await,
            Self::Federation(args) => federation::serve(args).await,
        }
    }
}
