//! The costs and savings of discovery for a host, and the number of tools from which on it is worth its costs.
//!
//! ```sh
//! cargo run -p mgp-toolindex --features tiktoken --example economy -- --tools mgp-toolindex/data/tools.jsonl
//! ```
#![expect(clippy::print_stdout, reason = "it is a command")]

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use mgp_toolindex::discovery::ToolDiscoverySettings;
use mgp_toolindex::embed::StaticEmbedder;
use mgp_toolindex::level::Sizes;
use mgp_toolindex::rows::{Corpus, ToolRow};
use mgp_toolindex::session::{SessionKey, SessionSettings, ToolSessions, ToolView};
use mgp_toolindex::{Index, budget};
use mgp_types::mgp::ToolContextBudget;

use self::comparison::LevelComparison;
use self::host::HostProfile;

mod comparison;
mod host;

#[derive(Parser)]
struct Args {
    /// The tools, a JSON object in each line
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// How many tokens definitions may take
    #[arg(long, value_name = "TOKENS", default_value_t = 8000)]
    budget: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let rows = ToolRow::read_all(BufReader::new(File::open(&args.tools)?))?;
    let index = Index::new(Arc::new(StaticEmbedder::new()));
    Corpus::new(&rows)?.index(&index).await;

    let counter = budget::default_counter();
    let meta_tools = ToolDiscoverySettings::new().definitions(&*counter);
    let settings = SessionSettings::new(ToolContextBudget::of(args.budget), Arc::clone(&counter));
    let sessions = ToolSessions::new(settings.meta_tools(&meta_tools))?;
    let meta_tokens = sessions.settings().meta_tokens();
    let snapshot = index.snapshot();
    let view = ToolView::all(&snapshot);
    let first = sessions.listed(&SessionKey::new("new", None), &view);
    let economy =
        LevelComparison::of(Sizes::of(&view, &*counter).fixed(meta_tokens, 0), HostProfile::default());

    if args.json {
        println!("{}", serde_json::to_string_pretty(&economy)?);
        return Ok(());
    }
    println!("{} tools, counted by {}", rows.len(), counter.name());
    println!("in a new session at L3: {} tokens", first.tokens);
    println!("{economy}");
    Ok(())
}
