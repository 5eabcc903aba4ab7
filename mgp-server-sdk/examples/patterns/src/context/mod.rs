//! Context: what a model no longer has room for, as summaries, facts and memories.
//!
//! Summaries and facts are written by the client's model where the client lends it, and taken from the text where not.

mod bounds;
mod categories;
mod extraction;
mod facts;
mod fit;
mod memory;
mod model;
mod sentences;
mod style;
mod summarize;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use mgp_server_sdk::{Server, ServerLifecycle, Tool};
use mgp_types::mgp::{ExtensionSet, Offer, Permission, RiskLevel, SideEffect, ToolSecurity};

use self::facts::extract_key_facts;
use self::fit::fit_context;
use self::memory::{Memory, recall_memory, store_memory};
use self::summarize::summarize;

/// The options of `mgp-patterns context`.
#[derive(Debug, Args)]
pub(super) struct ContextServerArgs {
    /// The file in which memories are kept; if left out, they end with the server
    #[arg(long, value_name = "FILE")]
    memory: Option<PathBuf>,
}

/// Serves the context tools on standard input and output.
///
/// # Errors
/// Fails if the memory cannot be opened, or if the connection broke.
pub(super) async fn serve(ContextServerArgs { memory }: ContextServerArgs) -> anyhow::Result<()> {
    let memory = Memory::open(memory.as_deref()).context("the memory cannot be opened")?;
    let life = ServerLifecycle::new("context".into());
    Ok(server(memory).lifecycle(&life).serve_stdio().await?)
}

fn server(memory: Memory) -> Server {
    let reads = ToolSecurity::new(RiskLevel::Safe);
    let recalls = ToolSecurity::new(RiskLevel::Safe).with_permissions([Permission::MemoryRead]);
    let stores = ToolSecurity::new(RiskLevel::Moderate)
        .with_permissions([Permission::MemoryWrite])
        .with_side_effects([SideEffect::Filesystem]);
    let permissions =
        [Permission::MemoryRead, Permission::MemoryWrite].map(|permission| permission.to_string());
    let offer = Offer::new(ExtensionSet::from_names(["security"])).with_permissions_required(permissions);
    Server::new("context", env!("CARGO_PKG_VERSION"))
        .mgp(offer)
        .state(Arc::new(memory))
        .tool(Tool::new("summarize", "Summarizes a text.").read_only().security(&reads), summarize)
        .tool(
            Tool::new("extract_key_facts", "Lists the facts that a text states, by category.")
                .read_only()
                .security(&reads),
            extract_key_facts,
        )
        .tool(
            Tool::new(
                "fit_context",
                "Fits a conversation into a number of tokens: keeps the newest messages, summarizes the older ones and \
                 stores them in the memory.",
            )
            .destructive(false)
            .idempotent()
            .security(&stores),
            fit_context,
        )
        .tool(
            Tool::new("store_memory", "Keeps a text in the memory.").destructive(false).idempotent().security(&stores),
            store_memory,
        )
        .tool(
            Tool::new("recall_memory", "Finds texts in the memory by a need in words.").read_only().security(&recalls),
            recall_memory,
        )
}

#[cfg(test)]
mod tests;
