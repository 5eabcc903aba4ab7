//! The servers of the application patterns of the specification (§10): what needs no protocol of its own, because servers can do
//! it with what there is. Each is a small program on `mgp-server-sdk`, made to be read and copied; `docs/patterns` describes them.
//!
//! ```sh
//! mgp-patterns context --memory memory.jsonl
//! ```

mod audit;
mod context;
mod coordination;
mod federation;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing::level_filters::LevelFilter;

/// The command line of `mgp-patterns`.
#[derive(Debug, Parser)]
#[command(name = "mgp-patterns", version, about = "Servers for the application patterns of MGP")]
struct PatternsArgs {
    #[command(subcommand)]
    server: PatternServer,
}

/// The server that the command line names, with its options.
#[derive(Debug, Subcommand)]
enum PatternServer {
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
    async fn serve(self) -> anyhow::Result<()> {
        match self {
            Self::Audit(args) => audit::serve(args).await,
            Self::Context(args) => context::serve(args).await,
            Self::Coordination => coordination::serve().await,
            Self::Federation(args) => federation::serve(args).await,
        }
    }
}

/// Serves the server that `args` name, whose first element is the name of the program, and returns the exit code: 1 for a wrong
/// command line, 5 for a server that failed, like the exit codes of `mgp`.
pub fn run(args: Vec<OsString>) -> ExitCode {
    let args = match PatternsArgs::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Nobody is there to be told that standard error is closed.
            let _ = error.print();
            return ExitCode::from(u8::from(error.use_stderr()));
        }
    };
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(LevelFilter::WARN);
    log.init();
    let served =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(anyhow::Error::from);
    let served = served.and_then(|runtime| {
        let served = runtime.block_on(args.server.serve());
        // A read that still waits for standard input must not keep the process alive.
        runtime.shutdown_background();
        served
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(5)
        }
    }
}
