//! `mgp tools` and `mgp search`: list tools, show everything about one tool, and find tools by their purpose, those of a
//! kernel or those of a file.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::Args;
use mgp_kernel_core::admin::operation::{KernelNeed, PageRequest, ServersToBegin};
use mgp_kernel_core::admin::servers::ServerRow;
use mgp_kernel_core::admin::status::ReadStatus;
use mgp_kernel_core::admin::tools::{ListTools, ToolRow};
use mgp_kernel_core::terminal::{Exit, Failure, Result, or_dash, printable};
use mgp_security::definition::{DefinitionKind, DefinitionName};
use mgp_toolindex::embed::EmbedderChoice;
use mgp_toolindex::rows::{Corpus, QueryRow, ToolRow as CorpusRow, read_rows};
use mgp_toolindex::{Index, Search};
use mgp_types::mgp::{DiscoverTools, DiscoveredTools, MatchEvidence, SearchStrategy, ServerState};
use serde::Serialize;

use super::context::CommandContext;
use super::link::KernelLink;
use super::output::Output;

#[derive(Debug, Args)]
pub(super) struct ToolsArgs {
    /// List the tools of this server only, or show all that is known of this tool: SERVER or SERVER.TOOL
    #[arg(value_name = "SERVER[.TOOL]")]
    of: Option<String>,
    #[command(flatten)]
    page: PageRequest,
}

pub(super) async fn run(cx: &CommandContext, args: ToolsArgs) -> Result {
    KernelLink::with(cx, KernelNeed::ANY_SERVERS, async |link| list(link, args).await).await
}

async fn list(link: &KernelLink, args: ToolsArgs) -> Result {
    let (mut server_id, mut servers) = (None, link.servers(ServersToBegin::None).await?);
    if let Some(of) = &args.of {
        let Some(row) = servers.iter().find(|server| server.id.as_str() == of) else {
            return link.output.result(&one(link, of).await?);
        };
        let id = row.id.clone();
        if row.is_unheard() {
            servers = link.settled(&ServersToBegin::Only(vec![id.clone()])).await?;
        }
        servers.retain(|row| row.id == id);
        server_id = Some(id);
    } else {
        servers = link.heard().await?;
    }
    link.output
        .result(&link.ask(&ListTools { server_id, page: args.page, ..ListTools::default() }).await?)?;
    tell_unheard(&servers, &link.output);
    Ok(Exit::Done)
}

/// Notes which servers have not listed their tools since the kernel was started.
fn tell_unheard(servers: &[ServerRow], output: &Output) {
    let named = |filter: &dyn Fn(&ServerRow) -> bool| {
        let waits = servers.iter().filter(|row| row.starting || row.state == ServerState::Registered);
        let waits = waits.filter(|row| row.enabled && row.fault.is_none() && filter(row));
        waits.map(|row| printable(row.id.as_str())).collect::<Vec<_>>().join(", ")
    };
    let unheard = named(&ServerRow::is_unheard);
    let starting = named(&|row| !row.is_unheard() && row.starting);
    let remembered = named(&|row| !row.is_unheard() && !row.starting);
    if !unheard.is_empty() {
        output.note(&format!(
            "still starting, with unknown tools: {unheard}; `mgp servers --wait` waits for them"
        ));
    }
    if !starting.is_empty() {
        output.note(&format!("still starting, with the tools that they listed last: {starting}; calls wait"));
    }
    if !remembered.is_empty() {
        output.note(&format!("as listed when they ran last: {remembered}"));
    }
}

/// Returns the tool that clients call `name`.
pub(super) async fn one(link: &KernelLink, name: &str) -> Result<ToolRow> {
    let asked = ListTools { name: Some(name.to_owned()), ..ListTools::default() };
    let mut found = link.ask(&asked).await?;
    let is_named = |row: &&ServerRow| {
        let rest = name.strip_prefix(row.id.as_str());
        rest.is_some_and(|rest| rest.starts_with(['.', '/', '_']))
    };
    let mut servers = Vec::new();
    if found.tools.is_empty() && found.held.is_empty() {
        servers = link.servers(ServersToBegin::None).await?;
        let named: Vec<_> = servers.iter().filter(is_named).map(|row| row.id.clone()).collect();
        servers = if named.is_empty() {
            link.heard().await?
        } else {
            link.settled(&ServersToBegin::Only(named)).await?
        };
        found = link.ask(&asked).await?;
    }
    if let Some(tool) = found.tools.pop() {
        return Ok(tool);
    }
    if let Some(held) = found.held.first() {
        let definition = DefinitionName::new(DefinitionKind::Tool, held.tool_name.as_str());
        let sentence = held.standing.sentence(&held.server_id, &definition);
        return Err(Failure::new(Exit::Auth, sentence).hint(held.standing.way.clone()));
    }
    // A server that does not run has no tools, so the name may be spelled correctly.
    let absent = |row: &&ServerRow| row.state != ServerState::Connected && is_named(row);
    if let Some(row) = servers.iter().find(absent) {
        let why = row.why().map(|why| format!(": {}", printable(why))).unwrap_or_default();
        let (id, state) = (&row.id, if row.enabled { row.state.as_str() } else { "disabled" });
        return Err(Failure::unreachable(format!("the server {id} of `{name}` is {state}{why}"))
            .hint(format!("{}, `mgp doctor` checks everything", row.remedy())));
    }
    if servers.iter().any(|row| row.id.as_str() == name) {
        return Err(Failure::usage(format!("`{name}` is a server, and one of its tools is wanted"))
            .hint(format!("`mgp tools {name}` lists its tools: write `{name}.TOOL`")));
    }
    let failure = Failure::usage(format!("there is no server and no tool `{name}`"));
    Err(failure.hint(if found.near.is_empty() {
        "`mgp tools` lists the tools, `mgp servers` shows the states of the servers".to_owned()
    } else {
        format!("did you mean {}?", found.near.join(", "))
    }))
}

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
    /// The embedder, which turns texts into vectors: static or fastembed:DIR
    #[arg(long, value_name = "EMBEDDER", default_value = "static", requires = "queries")]
    embedder: EmbedderChoice,
}

pub(super) async fn search(cx: &CommandContext, args: SearchArgs) -> Result {
    if let (Some(tools), Some(queries)) = (&args.tools, &args.queries) {
        return batch(&args, &cx.output, tools, queries).await;
    }
    let wanted = DiscoverTools::new(args.query.join(" ")).max_results(args.top);
    let wanted = args.strategy.into_iter().fold(wanted, DiscoverTools::strategy);
    let wanted = if args.why { wanted.explain() } else { wanted };
    let search = async |link: &KernelLink| {
        let servers = link.heard().await?;
        let found: DiscoveredTools = link.client.discover_tools(&wanted).await?;
        Ok((servers, found, link.ask(&ReadStatus {}).await?.encoder))
    };
    let (servers, found, encoder) = KernelLink::with(cx, KernelNeed::ANY_SERVERS, search).await?;
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
    if let Some(progress) = encoder {
        cx.output.note(&progress.to_string());
    }
    Ok(Exit::Done)
}

/// A tool that fits one of many queries.
#[derive(Debug, Serialize)]
struct QueryMatch<'a> {
    query: &'a str,
    tool: &'a str,
    score: f32,
}

async fn batch(args: &SearchArgs, output: &Output, tools: &Path, queries: &Path) -> Result {
    let rows: Vec<CorpusRow> = read_rows(opened(tools)?).map_err(|error| Failure::file(tools, error))?;
    let asked: Vec<QueryRow> = read_rows(opened(queries)?).map_err(|error| Failure::file(queries, error))?;
    let corpus = Corpus::new(&rows).map_err(|error| Failure::file(tools, error))?;
    let embedder = args.embedder.try_open().await;
    let embedder = embedder.map_err(|error| Failure::usage(format!("--embedder: {error}")))?;
    let index = Index::new(embedder);
    corpus.index(&index).await;
    let strategy = args.strategy.unwrap_or(SearchStrategy::Hybrid);
    for query in &asked {
        let search = Search::new(&query.text).strategy(strategy).limit(args.top as usize);
        let found = index.search(&search).await;
        let rows = found.hits.iter().map(|hit| {
            let (query, tool, score) = (&*query.id, corpus.id(&hit.tool), hit.score);
            (QueryMatch { query, tool, score }, format!("{query}\t{tool}\t{score}"))
        });
        if !output.lines(rows)? {
            break;
        }
    }
    Ok(Exit::Done)
}

fn opened(path: &Path) -> Result<BufReader<File>> {
    File::open(path).map(BufReader::new).map_err(|error| Failure::file(path, error))
}

fn strategy(word: &str) -> Result<SearchStrategy, String> {
    SearchStrategy::read(word)
        .ok_or_else(|| format!("`{word}` is not a strategy: write hybrid, keyword, semantic or category"))
}
