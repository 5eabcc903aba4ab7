//! The tokens that whole tasks take at each level of tool discovery (§16.3), played by a scripted agent.
//!
//! The agent works at tasks with the servers of the demo, through a kernel. Each task is a conversation of its own in one
//! session; a tool that is not listed is searched first. All definitions, requests and answers are counted as they come
//! from the kernel. With `--others`, servers with further tools are added, one after the other, to see from how many
//! tools on a search is worth its costs.
//!
//! ```sh
//! cargo build --release -p mgp-kernel
//! cargo run -p mgp-kernel --features mgp-toolindex/tiktoken --example tokens -- --mgp target/release/mgp
//! ```
#![expect(clippy::print_stdout, reason = "it is a command")]

mod agent;
mod other_servers;
mod tasks;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, Subcommand};
use mgp_client_sdk::Client;
use mgp_discovery::Config;
use mgp_kernel::Kernel;
use mgp_toolindex::budget::default_counter;
use mgp_types::Principal;
use mgp_types::mgp::{ServerState, ShutdownReason};
use serde_json::{Value, json};
use tokio::time::Instant;

use self::agent::{Agent, Spent};
use self::other_servers::OtherServer;

#[derive(Parser)]
struct Args {
    /// The program whose demo has the servers
    #[arg(long, value_name = "PROGRAM", required = true)]
    mgp: Option<PathBuf>,
    /// Tools of further servers, a JSON object in each line
    #[arg(long, value_name = "FILE")]
    others: Option<PathBuf>,
    #[command(subcommand)]
    serve: Option<Serve>,
}

#[derive(Subcommand)]
#[command(subcommand_negates_reqs = true)]
enum Serve {
    /// Serves the tools that a file has of one server; the example starts itself so
    #[command(hide = true)]
    Serve { file: PathBuf, server: String },
}

/// A way to show tools to a model.
struct Way {
    name: &'static str,
    level: &'static str,
    /// Whether the agent reads a list that changes in the middle of a task, and not with the next task only.
    follows: bool,
}

const WAYS: [Way; 5] = [
    Way { name: "L0", level: "L0", follows: false },
    Way { name: "L1", level: "L1", follows: false },
    Way { name: "L2", level: "L2", follows: false },
    Way { name: "L3, the list as the task began", level: "L3", follows: false },
    Way { name: "L3, the list as it is", level: "L3", follows: true },
];

/// The tools that there are.
struct Surroundings<'a> {
    /// Tools of the servers of the demo that are not to be had.
    without: &'a [String],
    others: &'a [OtherServer],
}

/// The price of a token in the prompt cache, and that of a written one, in fresh tokens, as large providers have it.
const CACHED: f64 = 0.1;
const WRITTEN: f64 = 5.0;

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(Serve::Serve { file, server }) = args.serve {
        return other_servers::serve(&file, &server);
    }
    let mgp = std::path::absolute(args.mgp.context("--mgp names no program")?)?;
    println!("{} tasks, counted by {}\n", tasks::ALL.len(), default_counter().name());
    println!(
        "| tools | level | listed at the start | turns | searches | calls and results | read afresh | from the cache | written | cost |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let others = match &args.others {
        Some(file) => other_servers::of(file)?,
        None => Vec::new(),
    };
    let (mut superfluous, _) = play(&mgp, &Surroundings { without: &[], others: &[] }, &WAYS[0]).await?;
    superfluous.retain(|tool| !tasks::need(tool));
    let mut all =
        vec![Surroundings { without: &superfluous, others: &[] }, Surroundings { without: &[], others: &[] }];
    let mut added = 0;
    while added < others.len() {
        // Few at first, where the ways are near one another.
        added = (4 * added + 1).min(others.len());
        all.push(Surroundings { without: &[], others: &others[..added] });
    }
    let mut costs: Vec<(f64, Vec<f64>)> = Vec::new();
    for surroundings in &all {
        let mut by_way = Vec::new();
        let mut tools = 0;
        for way in &WAYS {
            let (names, spent) = play(&mgp, surroundings, way).await?;
            // At other levels, not all are listed.
            tools = tools.max(names.len());
            by_way.push(row(tools, way, &spent));
        }
        #[expect(clippy::cast_precision_loss, reason = "there are few tools")]
        costs.push((tools as f64, by_way));
    }
    println!();
    for (number, way) in WAYS.iter().enumerate().skip(1) {
        match break_even(&costs, number) {
            Some(tools) => println!("{} costs less than L0 from {tools:.0} tools on", way.name),
            None => println!("{} never costs less than L0 here", way.name),
        }
    }
    Ok(())
}

/// Returns the number of tools from which on a way costs less than the first: on the straight line between what was
/// measured.
fn break_even(costs: &[(f64, Vec<f64>)], way: usize) -> Option<f64> {
    let more = |(_, by_way): &(f64, Vec<f64>)| by_way[way] - by_way[0];
    let cheaper = costs.iter().position(|at| more(at) < 0.0)?;
    let (tools, saved) = (costs[cheaper].0, -more(&costs[cheaper]));
    let Some(before) = cheaper.checked_sub(1).map(|before| &costs[before]) else { return Some(tools) };
    Some(tools - (tools - before.0) * saved / (saved + more(before)))
}

/// Plays all tasks. Returns the tools that were listed at the beginning, and what was spent on each task in the mean.
async fn play(mgp: &Path, surroundings: &Surroundings<'_>, way: &Way) -> Result<(Vec<String>, Spent)> {
    let temporary = tempfile::tempdir()?;
    let folder = temporary.path();
    std::fs::write(folder.join("plan.txt"), "Monday: write the report\nFriday: release\n")?;
    let kernel = Kernel::start(config(mgp, folder, surroundings, way)?, folder.join("state")).await?;
    let client = Client::builder("agent", "1").mgp(None).caching(false);
    let client = client.in_process(kernel.accept(Principal::new("agent.tasks"))).await?;
    let began = Instant::now();
    while kernel.servers().iter().any(|view| view.state != ServerState::Connected || view.tools == 0) {
        ensure!(began.elapsed() < LONGEST, "not all servers connect");
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let listed = client.list_tools().await?.into_iter().map(|tool| tool.name).collect();
    let mut agent = Agent::new(&client, default_counter(), way.follows);
    for task in tasks::ALL {
        agent.work(task, folder).await.with_context(|| format!("{}: {}", way.name, task.wish))?;
    }
    let spent = agent.mean();
    client.close().await?;
    kernel.shutdown(ShutdownReason::KernelShutdown, GRACE).await;
    Ok((listed, spent))
}

fn config(mgp: &Path, folder: &Path, surroundings: &Surroundings<'_>, way: &Way) -> Result<Config> {
    let oneself = std::env::current_exe()?;
    let own = tasks::SERVERS.map(|id| {
        let without =
            surroundings.without.iter().filter_map(|tool| tool.strip_prefix(id)?.strip_prefix("__"));
        let tools: Value = without
            .map(|tool| (tool.to_owned(), json!({"enabled": false})))
            .collect::<serde_json::Map<_, _>>()
            .into();
        json!({"id": id, "command": mgp, "args": ["demo-server", id], "cwd": folder, "tools": tools})
    });
    let others = surroundings.others.iter().map(|other| {
        let arguments: [&Value; 3] = [&json!("serve"), &json!(other.file), &json!(other.server)];
        json!({"id": other.server, "command": oneself, "args": arguments})
    });
    let config = json!({
        "servers": own.into_iter().chain(others).collect::<Vec<_>>(),
        "permissions": {"policy": "auto_approve", "never_automatic": []},
        "validators": {"roots": [folder]},
        "tools": {"level": way.level, "embedder": "static"},
    });
    serde_json::from_value(config).context("the configuration")
}

/// Prints a row, and returns the cost in fresh tokens.
fn row(tools: usize, way: &Way, spent: &Spent) -> f64 {
    let Spent { listed, turns, searches, calls, fresh, cached, written } = *spent;
    let cost = fresh + cached * CACHED + written * WRITTEN;
    println!(
        "| {tools} | {} | {listed:.0} | {turns:.1} | {searches:.0} | {calls:.0} | {fresh:.0} | {cached:.0} | {written:.0} | {cost:.0} |",
        way.name
    );
    cost
}

const LONGEST: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_secs(2);
