//! A ranking of tools for queries: `rank --tools FILE --queries FILE --top N` prints `query id TAB tool id TAB score`,
//! the best tool of each query first.
//!
//! Tools are lines of JSON `{"id", "server", "name", "description", "serverDescription", "inputSchema",
//! "categories"}`, queries are lines of `{"id", "text"}`.
//!
//! ```sh
//! cd mgp-toolindex/data
//! cargo run --release -p mgp-toolindex --example rank -- --tools tools.jsonl --queries questions.jsonl --top 5
//! ```
//!
//! With `--as`, a search of another product, rebuilt here, ranks instead of the index, for comparison.

mod rivals;

use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use mgp_toolindex::embed::{EmbedderChoice, SqliteVectors, VectorStore};
use mgp_toolindex::rows::{Corpus, QueryRow, ToolRow, read_rows};
use mgp_toolindex::{FusionWeights, Index, Search};
use mgp_types::mgp::SearchStrategy;

use self::rivals::Rival;

#[derive(Parser)]
struct Args {
    /// The tools, a JSON object in each line
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// The queries, a JSON object in each line
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// The number of tools to print for a query at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// The embedder: static or fastembed:FOLDER
    #[arg(long, value_name = "EMBEDDER", default_value = "static")]
    embedder: EmbedderChoice,
    /// A folder to store vectors that take long to make
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,
    /// The strategy of the search
    #[arg(long, value_name = "STRATEGY", default_value = "hybrid", value_parser = strategy)]
    strategy: SearchStrategy,
    /// The weights of the fusion, in place of the usual ones: for an experiment
    #[arg(long, value_name = "MEANING,BY_CHANCE,NAMED_SERVER", value_parser = weights)]
    weights: Option<FusionWeights>,
    /// The search to rebuild instead of using the index
    #[arg(long = "as", value_name = "WHOSE")]
    rival: Option<Rival>,
}

/// The number of stored vectors; none of the usual sets has more tools.
const MAX_KEPT: u32 = 100_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let rows: Vec<ToolRow> = read_rows(BufReader::new(File::open(&args.tools)?))?;
    let queries: Vec<QueryRow> = read_rows(BufReader::new(File::open(&args.queries)?))?;
    let mut out = BufWriter::new(io::stdout().lock());
    if let Some(rival) = args.rival {
        let ranker = rival.ranker(&rows);
        for query in &queries {
            for (row, score) in ranker.rank(&query.text, args.top) {
                writeln!(out, "{}\t{}\t{score}", query.id, rows[row].id)?;
            }
        }
        return Ok(out.flush()?);
    }
    let corpus = Corpus::new(&rows)?;
    let store = args.store.as_deref().map(|folder| SqliteVectors::open(folder, MAX_KEPT)).transpose()?;
    let store = store.map(|store| Arc::new(store) as Arc<dyn VectorStore>);
    let index = Index::with_vectors(args.embedder.try_open().await?, store);
    corpus.index(&index).await;
    for query in &queries {
        let search = Search::new(&query.text)
            .strategy(args.strategy)
            .limit(args.top)
            .weights(args.weights.unwrap_or_default());
        let found = index.search(&search).await;
        for hit in &found.hits {
            writeln!(out, "{}\t{}\t{}", query.id, corpus.id(&hit.tool), hit.score)?;
        }
    }
    Ok(out.flush()?)
}

fn weights(words: &str) -> Result<FusionWeights, &'static str> {
    let numbers: Vec<f32> = words.split(',').filter_map(|word| word.parse().ok()).collect();
    let [meaning, by_chance, named_server] = numbers[..] else { return Err("expected three numbers") };
    let mut weights = FusionWeights::default();
    (weights.meaning, weights.by_chance, weights.named_server) = (meaning, by_chance, named_server);
    Ok(weights)
}

fn strategy(word: &str) -> Result<SearchStrategy, &'static str> {
    SearchStrategy::read(word).ok_or("expected hybrid, keyword or semantic")
}
