//! The gain by learning from use on a set of tools and queries, and the loss by a wrong history.
//!
//! ```sh
//! cargo run --release -p mgp-toolindex --example learn -- \
//!     --tools tools.jsonl --queries queries.dev.jsonl --qrels qrels.dev.tsv
//! ```
//!
//! Tools are lines of JSON `{"id", "server", "name", "description", …}`, queries are lines of `{"id", "text"}`, and the
//! third file has a heading and lines of `query id TAB tool id TAB score TAB slot`: tools of one slot meet the same need.
//!
//! One part of the queries is history: an agent searches through the gate of tool discovery, in a session for each
//! query, and calls a right tool for each need among the tools that it found. The other part is asked by this agent, by
//! one without a history, and by one that always called the best tool among the first five that was not right. A
//! query is familiar if the history has a need that one of its tools meets: only there can learning help.

mod agents;

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};
use mgp_toolindex::Index;
use mgp_toolindex::embed::EmbedderChoice;
use mgp_toolindex::eval::{Corpus, EvalQuestion, Measure, Quality, QueryRow, ToolRow};
use mgp_types::mgp::SearchStrategy;
use serde::Serialize;

use self::agents::{AgentHistory, ToolAgents};

#[derive(Parser)]
struct Args {
    /// The tools, a JSON object in each line
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// The queries, a JSON object in each line
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// The right tools of each query, separated by tabs
    #[arg(long, value_name = "FILE")]
    qrels: PathBuf,
    /// The queries that are history
    #[arg(long, value_enum, default_value_t = Split::FirstHalf)]
    history: Split,
    /// The embedder: static, encoder:FOLDER, fastembed:FOLDER or remote:URL#MODEL
    #[arg(long, value_name = "EMBEDDER", default_value = "static")]
    embedder: EmbedderChoice,
    /// The strategy of the search
    #[arg(long, value_name = "STRATEGY", default_value = "hybrid", value_parser = strategy)]
    strategy: SearchStrategy,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The queries that are history; the others are asked afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Split {
    /// The first half of the file
    FirstHalf,
    /// Every second query
    Alternate,
}

#[derive(Serialize)]
struct Report {
    history: usize,
    asked: usize,
    /// The queries that were asked and have a tool that the history needed too.
    familiar: usize,
    agents: BTreeMap<&'static str, AgentReport>,
}

#[derive(Serialize)]
struct AgentReport {
    /// The calls from which the agent's searches could learn.
    calls: usize,
    all: Quality,
    familiar: Quality,
    unfamiliar: Quality,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let corpus = Corpus::new(&ToolRow::read_all(BufReader::new(File::open(&args.tools)?))?)?;
    let questions = questions(&args.queries, &args.qrels)?;
    let (history, asked) = args.history.split(questions);
    let embedder = args.embedder.try_open().await?;
    let id = embedder.id().to_owned();
    let index = Index::new(embedder);
    corpus.index(&index).await;

    let agents = ToolAgents::new(index, &id, &corpus, args.strategy)?;
    let needed: HashSet<&String> =
        history.iter().flat_map(|question| question.needs.iter().flatten()).collect();
    let is_familiar =
        |question: &EvalQuestion| question.needs.iter().flatten().any(|tool| needed.contains(tool));
    let familiar = asked.iter().filter(|question| is_familiar(question)).count();
    let mut report = Report { history: history.len(), asked: asked.len(), familiar, agents: BTreeMap::new() };
    for kind in [AgentHistory::None, AgentHistory::Right, AgentHistory::Wrong] {
        let mut calls = 0;
        for question in &history {
            calls += agents.live(kind, question).await?;
        }
        let mut judged = Vec::new();
        for question in &asked {
            let found = agents.found(kind, &question.text).await?;
            judged.push((is_familiar(question), Quality::of(&found, &question.needs)));
        }
        let mean = |wanted: &dyn Fn(bool) -> bool| {
            Quality::mean(judged.iter().filter(|(is, _)| wanted(*is)).map(|(_, quality)| quality))
        };
        let (all, familiar, unfamiliar) = (mean(&|_| true), mean(&|is| is), mean(&|is| !is));
        report.agents.insert(kind.name(), AgentReport { calls, all, familiar, unfamiliar });
    }
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, &report)?;
        return Ok(writeln!(out)?);
    }
    report.write(&mut out)?;
    Ok(())
}

impl Split {
    fn split(self, questions: Vec<EvalQuestion>) -> (Vec<EvalQuestion>, Vec<EvalQuestion>) {
        let half = questions.len() / 2;
        let numbered = questions.into_iter().enumerate();
        let (history, asked): (Vec<_>, Vec<_>) = numbered.partition(|(number, _)| match self {
            Self::FirstHalf => *number < half,
            Self::Alternate => number % 2 == 0,
        });
        let plain =
            |half: Vec<(usize, EvalQuestion)>| half.into_iter().map(|(_, question)| question).collect();
        (plain(history), plain(asked))
    }
}

impl Report {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { history, asked, familiar, agents } = self;
        writeln!(out, "{history} queries of history, {asked} asked, {familiar} of them familiar")?;
        writeln!(out, "{:<10}{:>8}{:>14}{:>14}{:>14}", "history", "calls", "all", "familiar", "unfamiliar")?;
        for (name, agent) in agents {
            for measure in [Measure::Recall1, Measure::Recall5, Measure::Ndcg5] {
                let of = |quality: &Quality| format!("{} {:.4}", measure.name(), measure.of(quality));
                let row = [&agent.all, &agent.familiar, &agent.unfamiliar].map(of);
                writeln!(out, "{name:<10}{:>8}{:>14}{:>14}{:>14}", agent.calls, row[0], row[1], row[2])?;
            }
        }
        Ok(())
    }
}

/// Reads the queries with the tools that they need; those that need none are left out.
fn questions(queries: &Path, qrels: &Path) -> Result<Vec<EvalQuestion>, Box<dyn Error>> {
    let mut needs = BTreeMap::<String, BTreeMap<String, Vec<String>>>::new();
    for line in fs::read_to_string(qrels)?.lines().skip(1) {
        let [query, tool, _, slot] = *line.split('\t').collect::<Vec<_>>() else {
            return Err(format!("{}: expected query, tool, score and slot: {line}", qrels.display()).into());
        };
        needs.entry(query.into()).or_default().entry(slot.into()).or_default().push(tool.into());
    }
    let rows = QueryRow::read_all(BufReader::new(File::open(queries)?))?;
    let question = |row: QueryRow| {
        let needs = needs.remove(&row.id)?.into_values().collect();
        Some(EvalQuestion::new(row.id, row.text, needs))
    };
    Ok(rows.into_iter().filter_map(question).collect())
}

fn strategy(word: &str) -> Result<SearchStrategy, &'static str> {
    SearchStrategy::read(word).ok_or("expected hybrid or semantic")
}
