//! The growth of the index: latency, indexing time and memory for a thousand tools and for a million.
//!
//! ```sh
//! cargo run --release -p mgp-toolindex --example scale -- --tools 1000,10000,100000
//! ```
//!
//! Each size is measured in a process of its own, so that none has the memory of another. The tools are invented, the
//! same each time.

#[path = "../eval/evaluation/mod.rs"]
#[allow(dead_code, unused_imports, reason = "times need a part")]
mod evaluation;
mod invent;
mod measure;

use std::error::Error;
use std::io::{self, Write};
use std::process::Command;

use clap::Parser;
use mgp_toolindex::embed::EmbedderChoice;

use self::measure::Figures;

#[derive(Parser)]
struct Args {
    /// The number of tools; several numbers give a curve
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1000,10000,100000")]
    tools: Vec<usize>,
    /// The number of queries
    #[arg(long, value_name = "N", default_value_t = 3000)]
    queries: usize,
    /// The embedder: static or fastembed:FOLDER
    #[arg(long, value_name = "EMBEDDER", default_value = "static")]
    embedder: EmbedderChoice,
    /// Print a JSON object in each line
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let mut out = io::stdout().lock();
    if let ([tools], true) = (&args.tools[..], args.json) {
        let figures = measure::figures(*tools, args.queries, &args.embedder).await?;
        serde_json::to_writer(&mut out, &figures)?;
        return Ok(writeln!(out)?);
    }
    let mut curve = Vec::new();
    for tools in &args.tools {
        let mut one = Command::new(std::env::current_exe()?);
        one.args(["--json", "--tools", &tools.to_string(), "--queries", &args.queries.to_string()]);
        let output = one.args(["--embedder", &args.embedder.to_string()]).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        curve.push(serde_json::from_slice::<Figures>(&output.stdout)?);
    }
    for figures in &curve {
        if args.json {
            serde_json::to_writer(&mut out, figures)?;
            writeln!(out)?;
        }
    }
    if !args.json {
        write!(out, "{}", measure::table(&curve))?;
        writeln!(out, "{} MB of program", std::fs::metadata(std::env::current_exe()?)?.len() / 1_000_000)?;
    }
    Ok(())
}
