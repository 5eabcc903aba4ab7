//! An evaluation of searches on one's own tools and questions, with comparisons.
//!
//! ```sh
//! cd mgp-toolindex/data
//! cargo run --release -p mgp-toolindex --example eval -- --tools tools.jsonl --questions questions.jsonl \
//!     --strategy hybrid --against keyword
//! ```
//!
//! Tools are lines of JSON `{"id", "server", "name", "description", "serverDescription", "inputSchema", "categories"}`,
//! questions are lines of `{"id", "text", "needs": [[ids of tools, one of which is needed], …]}`. With `--save` the
//! report is written to a file, and `--against` takes such a file as well, so that two versions of the tools can be
//! compared, too.

#[allow(dead_code, unused_imports, reason = "its tests and those of the index need the rest")]
mod evaluation;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::PathBuf;

use clap::Parser;
use mgp_toolindex::Index;
use mgp_toolindex::embed::EmbedderChoice;
use mgp_toolindex::rows::{Corpus, read_rows};
use mgp_types::mgp::SearchStrategy;
use serde::Serialize;

use self::evaluation::{Comparison, EvalQuestion, Report, evaluate};

#[derive(Parser)]
struct Args {
    /// The tools, a JSON object in each line
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// The questions, a JSON object in each line
    #[arg(long, value_name = "FILE")]
    questions: PathBuf,
    /// The embedder: static or fastembed:FOLDER
    #[arg(long, value_name = "EMBEDDER", default_value = "static")]
    embedder: EmbedderChoice,
    /// The strategy of the search
    #[arg(long, value_name = "STRATEGY", default_value = "hybrid")]
    strategy: String,
    /// A strategy, or the file of a report, to compare with
    #[arg(long, value_name = "STRATEGY|FILE")]
    against: Option<String>,
    /// The number of tools in an answer
    #[arg(long, value_name = "N", default_value_t = 5)]
    answer: usize,
    /// Writes the report to this file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Printed {
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let corpus = Corpus::new(&read_rows(BufReader::new(File::open(&args.tools)?))?)?;
    let index = Index::new(args.embedder.try_open().await?);
    corpus.index(&index).await;
    let snapshot = index.snapshot();
    let called: HashMap<&str, String> = snapshot.tools().map(|tool| (corpus.id(tool), tool.id())).collect();
    let mut questions: Vec<EvalQuestion> = read_rows(BufReader::new(File::open(&args.questions)?))?;
    for id in questions.iter_mut().flat_map(|question| question.needs.iter_mut().flatten()) {
        if let Some(tool) = called.get(id.as_str()) {
            id.clone_from(tool);
        }
    }

    let asked = async |name: &str| {
        let strategy = SearchStrategy::read(name).ok_or_else(|| format!("there is no strategy {name}"))?;
        Ok::<_, Box<dyn Error>>(evaluate(&index, &questions, name, strategy, args.answer).await)
    };
    let report = asked(&args.strategy).await?;
    let other = match &args.against {
        None => None,
        Some(name) if SearchStrategy::read(name).is_some() => Some(asked(name).await?),
        Some(file) => Some(serde_json::from_reader(BufReader::new(File::open(file)?))?),
    };
    if let Some(file) = &args.save {
        fs::write(file, serde_json::to_vec(&report)?)?;
    }
    let comparison = other.as_ref().map(|other| Comparison::of(other, &report));
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, &Printed { report, comparison })?;
        return Ok(writeln!(out)?);
    }
    writeln!(out, "{report}")?;
    if let (Some(other), Some(comparison)) = (other, comparison) {
        writeln!(out, "{other}\n{comparison}")?;
    }
    Ok(())
}
