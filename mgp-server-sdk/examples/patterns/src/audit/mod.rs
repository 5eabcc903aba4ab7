//! The audit service: it keeps the events that a kernel records, and searches, counts and exports them.
//!
//! The server offers the extension `audit`, so the kernel sends it each event as `notifications/mgp.audit`. A gate puts the
//! events into a queue, from which one thread writes them to an SQLite file; the tools read the file by a connection of
//! their own.

mod event;
mod export;
mod inbox;
mod retention;
mod search;
mod statistics;
mod store;
#[cfg(test)]
mod tests;
mod tools;
mod writer;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use mgp_server_sdk::{Server, ServerLifecycle, Tool};
use mgp_types::mgp::{Extension, ExtensionSet, Offer, RiskLevel, ToolSecurity};
use mgp_types::{Gate as _, GateLayer};
use tower_layer::{Identity, Stack};

use self::inbox::AuditInbox;
use self::retention::{Retention, RetentionArgs};
use self::store::EventStore;
use self::tools::AuditService;
use self::writer::EventWriter;

/// The options of `mgp-patterns audit`.
#[derive(Debug, Args)]
pub(super) struct AuditServerArgs {
    /// The file of the events; `mgp/audit-service.db` in the XDG data directory if left out
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
    #[command(flatten)]
    retention: RetentionArgs,
}

/// Serves the audit service on standard input and output, until the client is gone.
///
/// # Errors
/// Fails if the store cannot be opened, or if the connection broke.
pub(super) async fn serve(args: AuditServerArgs) -> anyhow::Result<()> {
    let path =
        args.store.or_else(default_path).context("there is no home directory: name a file with --store")?;
    let retention = Retention::of(&args.retention, &path);
    let (service, writer) =
        open(&path, retention).with_context(|| format!("the store {}", path.display()))?;
    let life = ServerLifecycle::new("audit".into());
    let served = server(service).lifecycle(&life).serve_stdio().await;
    tokio::task::spawn_blocking(|| writer.end()).await?;
    Ok(served?)
}

/// Opens the store at `path`, and starts the thread that writes it.
fn open(path: &Path, retention: Retention) -> anyhow::Result<(AuditService, EventWriter)> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let store = EventStore::open(path)?;
    let writer = EventWriter::start(store.clone(), retention)?;
    Ok((AuditService { store, queue: writer.queue() }, writer))
}

fn server(service: AuditService) -> Server<Stack<GateLayer<AuditInbox>, Identity>> {
    let inbox = AuditInbox(service.queue.clone());
    let safe = ToolSecurity::new(RiskLevel::Safe);
    let tool = |name, description| Tool::new(name, description).read_only().security(&safe);
    Server::new("audit", env!("CARGO_PKG_VERSION"))
        .description("Keeps audit events, and searches, counts and exports them.")
        .mgp(Offer::new(ExtensionSet::from_iter([Extension::Audit, Extension::ToolSecurity])))
        .layer(inbox.into_layer())
        .state(service)
        .tool(tool("query_audit_log", "Searches audit events, the newest first."), tools::query_audit_log)
        .tool(tool("get_audit_stats", "Counts audit events by groups."), tools::get_audit_stats)
        .tool(
            tool("export_audit", "Exports audit events, the oldest first, a page at a time."),
            tools::export_audit,
        )
}

/// Returns the file of the events in the directory where the system has the data of programs.
fn default_path() -> Option<PathBuf> {
    let set = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set.or_else(|| Some(std::env::home_dir()?.join(".local/share")))?;
    Some(data.join("mgp/audit-service.db"))
}
