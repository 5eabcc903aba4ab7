//! Many servers, many tools, and servers that never answer.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::figure::{Figure, Limit};
use super::gateway::{Gateway, Upstream, child};
use super::load::{self, Server};
use super::programs::Programs;
use super::rpc;
use crate::process::Background;

pub(super) fn figures(programs: &Programs) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let name = format!("ms until ready, {SILENT} servers that never answer");
    figures.push(Figure::ours(&name, ready(programs)?, Limit::AtMost(50.0)));
    let [idle, busy] = memory(programs)?;
    figures.push(Figure::ours("MB resident, 1,000 tools", idle, Limit::AtMost(36.0)));
    figures.push(Figure::ours("MB resident, 1,000 tools, the most under load", busy, Limit::AtMost(45.0)));
    let [first, list, search] = many(programs)?;
    let of = |what: &str| format!("{what}, {SERVERS} servers, {} tools", SERVERS * TOOLS_OF_EACH);
    figures.push(Figure::ours(&of("ms the first list"), first, Limit::AtMost(20.0)));
    figures.push(Figure::ours(&of("ms a list, p99"), list, Limit::AtMost(20.0)));
    figures.push(Figure::ours(&of("ms a search, p99"), search, Limit::AtMost(10.0)));
    Ok(figures)
}

/// How long it takes from the start of the process until it takes calls.
fn ready(programs: &Programs) -> Result<f64> {
    let silent = ["/bin/sleep".to_owned(), "1000".to_owned()];
    let servers: String = (0..SILENT).map(|number| child(&format!("s{number}"), &silent, "")).collect();
    let mut best = f64::MAX;
    for _ in 0..STARTS {
        let gateway = Gateway::kernel_of(&programs.kernel, &servers)?;
        let began = Instant::now();
        let mut running = Command::new(&gateway.command[0])
            .args(&gateway.command[1..])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("the kernel cannot be started")?;
        let outcome = loop {
            if rpc::get(gateway.port, "/readyz").is_ok_and(|page| page.contains("\"ready\"")) {
                break Ok(began.elapsed());
            }
            if began.elapsed() > LIMIT {
                break Err(anyhow::anyhow!("the kernel does not become ready"));
            }
            thread::sleep(Duration::from_micros(200));
        };
        running.kill()?;
        running.wait()?;
        best = best.min(outcome?.as_secs_f64() * 1e3);
    }
    Ok(best)
}

/// Resident memory with a server of many tools: once it is connected, and at most while it is called.
fn memory(programs: &Programs) -> Result<[f64; 2]> {
    let server = Server::start_with(programs, load::Cores::All, 997)?;
    let gateway = Gateway::kernel(programs, Upstream::Http, server.port)?;
    let log = programs.kernel.folder.join("gateway.log");
    let running =
        Background::start(Command::new(&gateway.command[0]).args(&gateway.command[1..]), gateway.port, &log)?;
    gateway.wait_for(1)?;
    let driver = || Command::new(programs.peers.join("mcp-load"));
    let most = |scenarios: &str| -> Result<f64> {
        let options = ["--secs", "1", "--warmup", "10", "--scenarios", scenarios].map(String::from);
        let results = load::drive(programs, &gateway, running.id(), &mut driver(), &options)?;
        let last = results.last().and_then(|result| result.server_rss_max_kib);
        Ok(last.context("mcp-load does not tell of memory")? * 1024.0 / 1e6)
    };
    Ok([most("n1")?, most("list,c64")?])
}

/// The first list, later ones, and searches, in milliseconds.
fn many(programs: &Programs) -> Result<[f64; 3]> {
    let floor = programs.peer("floor", &["stdio-tokio"]);
    // The floor has three tools of its own.
    let env = format!("FLOOR_TOOLS = \"{}\"", TOOLS_OF_EACH - 3);
    let servers: String = (0..SERVERS).map(|number| child(&format!("s{number}"), &floor, &env)).collect();
    let gateway = Gateway::kernel_of(&programs.kernel, &servers)?;
    let log = programs.kernel.folder.join("gateway.log");
    let _running =
        Background::start(Command::new(&gateway.command[0]).args(&gateway.command[1..]), gateway.port, &log)?;
    gateway.wait_for(SERVERS)?;
    let mut client = rpc::Client::connect(&gateway)?;
    let mut timed = |method: &str, name: Option<&str>, params: &str| -> Result<(f64, String)> {
        let began = Instant::now();
        let answer = client.request(method, name, params)?;
        Ok((began.elapsed().as_secs_f64() * 1e3, answer))
    };
    let (first, list) = timed("tools/list", None, "")?;
    let tools = list.matches("\"inputSchema\"").count();
    ensure!(tools >= SERVERS * TOOLS_OF_EACH, "{tools} tools are listed");
    let mut lists = Vec::new();
    for _ in 0..LISTS {
        lists.push(timed("tools/list", None, "")?.0);
    }
    let mut searches = Vec::new();
    for number in 0..SEARCHES {
        let query = QUERIES[number % QUERIES.len()];
        let params = format!(r#""name":"{SEARCH}","arguments":{{"query":"{query} {number}"}}"#);
        let (took, answer) = timed("tools/call", Some(SEARCH), &params)?;
        ensure!(!answer.contains("\"isError\":true"), "a search failed: {answer}");
        searches.push(took);
    }
    Ok([first, p99(lists), p99(searches)])
}

fn p99(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() * 99 / 100).min(times.len() - 1)]
}

const SILENT: usize = 20;
const STARTS: usize = 5;
const SERVERS: usize = 100;
const TOOLS_OF_EACH: usize = 50;
const LISTS: usize = 100;
const SEARCHES: usize = 500;
const LIMIT: Duration = Duration::from_secs(20);

const SEARCH: &str = "mgp.tools.discover";
const QUERIES: [&str; 4] = [
    "echo a text back",
    "add two numbers",
    "return a large blob of so many bytes",
    "a tool that sends mail to a customer and waits for the answer",
];
