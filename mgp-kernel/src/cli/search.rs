//! `mgp search`: searches tools by their purpose, those of a kernel or those of a file.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::Args;
use mgp_toolindex::embed::EmbedderChoice;
use mgp_toolindex::rows::{Corpus, QueryRow, ToolRow, read_rows};
use mgp_toolindex::{Index, Search};
use mgp_types::mgp::{DiscoverTools, DiscoveredTools, MatchEvidence, SearchStrategy};
use serde::Serialize;

use super::context::CommandContext;
use super::link::KernelLink;
use super::output::{Output, OutputReader};
use super::tools::tell_unheard;
use crate::admin::operation::KernelNeed;
use crate::terminal::{Exit, Failure, or_dash};

#[derive(Debug, Args)]
pub(super) struct SearchArgs {
    /// The task, in words
    #[arg(value_name = "QUERY", required_unless_present = "queries", conflicts_with = "queries")]
    query: Vec<String>,
    /// The maximum number of tools
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: u32,
    /// The strategy of the search: hybrid, keyword, semantic or category
    #[arg(long, value_name = "HOW", value_parser = strategy)]
    strategy: Option<SearchStrategy>,
    /// Show what speaks for each tool: the words of the query that it has, its likeness in meaning, and whether the query
    /// names its server
    #[arg(long, conflicts_with = "queries")]
    why: bool,
    /// Search these tools instead, without a kernel: a file with lines of JSON {"id","server","name",…}
    #[arg(long, value_name = "FILE", requires = "queries")]
    tools: Option<PathBuf>,
    /// Run many queries: a file with lines of JSON {"id","text"}; prints query, tool and score, separated by tabs, or
    /// with --json an object for each
    #[arg(long, value_name = "FILE", requires = "tools")]
    queries: Option<PathBuf>,
    /// The embedder, which turns texts into vectors: static, encoder:DIR or fastembed:DIR
    #[arg(long, value_name = "EMBEDDER", default_value = "static", requires = "queries")]
    embedder: EmbedderChoice,
}

pub(super) async fn run(cx: &CommandContext, args: SearchArgs) -> Result<Exit, Failure> {
    if let (Some(tools), Some(queries)) = (&args.tools, &args.queries) {
        return batch(&args, &cx.output, tools, queries).await;
    }
    let mut wanted = DiscoverTools::new(args.query.join(" ")).max_results(args.top);
    if let Some(strategy) = args.strategy {
        wanted = wanted.strategy(strategy);
    }
    if args.why {
        wanted = wanted.explain();
    }
    let search = async |link: &KernelLink| {
        let servers = link.heard().await?;
        Ok((servers, link.client.discover_tools(&wanted).await?))
    };
    let (servers, found): (_, DiscoveredTools) =
        KernelLink::with(cx, KernelNeed::ANY_SERVERS, search).await?;
    cx.output.show(&found, |found, out| {
        let headings: &[&str] = if args.why {
            &["TOOL", "FITS", "WORDS", "MEANING", "SERVER NAMED"]
        } else {
            &["TOOL", "FITS", "WHAT IT DOES"]
        };
        let rows = found.tools.iter().map(|tool| {
            let mut cells =
                vec![tool.name.clone(), or_dash(tool.relevance_score.map(|score| format!("{score:.2}")))];
            if let Some(MatchEvidence { words, meaning, prior }) = tool.evidence {
                cells.extend([words, meaning, prior].map(|share| format!("{share:.1}")));
            } else {
                cells.push(tool.description.lines().next().unwrap_or_default().chars().take(80).collect());
            }
            cells
        });
        out.table(headings, rows, "no tool fits; `mgp tools` lists all tools")
    })?;
    tell_unheard(&servers, &cx.output);
    Ok(Exit::Done)
}

/// A tool that fits one of many queries.
#[derive(Debug, Serialize)]
struct QueryMatch<'a> {
    query: &'a str,
    tool: &'a str,
    score: f32,
}

async fn batch(args: &SearchArgs, output: &Output, tools: &Path, queries: &Path) -> Result<Exit, Failure> {
    let rows: Vec<ToolRow> = read_rows(opened(tools)?).map_err(|error| Failure::file(tools, error))?;
    let asked: Vec<QueryRow> = read_rows(opened(queries)?).map_err(|error| Failure::file(queries, error))?;
    let corpus = Corpus::new(&rows).map_err(|error| Failure::file(tools, error))?;
    let embedder = args.embedder.try_open().await;
    let embedder = embedder.map_err(|error| Failure::usage(format!("--embedder: {error}")))?;
    let index = Index::new(embedder);
    corpus.index(&index).await;
    let strategy = args.strategy.unwrap_or(SearchStrategy::Hybrid);
    for query in &asked {
        let search = Search::new(&query.text).strategy(strategy).limit(args.top as usize);
        let mut lines = Vec::new();
        for hit in &index.search(&search).await.hits {
            let fit = QueryMatch { query: &query.id, tool: corpus.id(&hit.tool), score: hit.score };
            output.add_line(&mut lines, &fit, &format!("{}\t{}\t{}", fit.query, fit.tool, fit.score))?;
        }
        if output.write(&lines)? == OutputReader::Gone {
            break;
        }
    }
    Ok(Exit::Done)
}

fn opened(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path);
    file.map(BufReader::new).map_err(|error| Failure::file(path, error))
}

fn strategy(word: &str) -> Result<SearchStrategy, String> {
    SearchStrategy::read(word)
        .ok_or_else(|| format!("`{word}` is not a strategy: write hybrid, keyword, semantic or category"))
}
