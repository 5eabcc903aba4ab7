//! `cargo xtask bench`: our `echo` example beside rmcp and beside a hand-written floor, all in one run.
//!
//! Values that vary with the machine are compared as ratios inside this run; values that do not (instructions,
//! allocations) have absolute targets. The peers and the load driver are programs of their own, in the folder
//! `--bench-dir`; streaming, which rmcp has not, is measured without them. Searches are scored by a program of their
//! own, too, in the folder `--search-dir`.

mod audit;
mod callgrind;
mod gates;
mod idempotency;
mod kernel;
mod load;
mod origin;
mod search;
mod stream;
mod tokens;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::workspace::{Features, Profile, Workspace};
use crate::{process, table::Table};
use gates::{Figure, Target};
use origin::origin;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this part of it
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
    /// One short repetition, to see whether it works
    #[arg(long)]
    quick: bool,
    /// The folder of the load driver and the peers, relative to the workspace
    #[arg(long, value_name = "FOLDER", default_value = "../shared/bench-speed")]
    bench_dir: PathBuf,
    /// A command in the place of our example `echo`
    #[arg(long, value_name = "COMMAND")]
    server: Option<String>,
    /// A command in the place of our example `bench_client`
    #[arg(long, value_name = "COMMAND")]
    client: Option<String>,
    #[command(flatten)]
    search: search::SearchOptions,
    #[command(flatten)]
    kernel: kernel::Options,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Calls that are answered at once, beside the floor and rmcp
    Calls,
    /// Results that are streamed
    Stream,
    /// The tool index: what it finds, and how fast
    Search,
    /// The kernel as a gateway, beside a floor and a proxy
    Kernel,
    /// The kernel with many connections at once
    Connections,
    /// What the optional extensions add to a call of the kernel
    Extensions,
    /// The audit service with a million events
    Audit,
    /// What a model reads and writes for whole tasks, at each level of tool discovery
    Tokens,
    /// Calls with keys: their memory, and the time of those that come again
    Idempotency,
}

// covers: GGEN-8.5-02
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let chosen = |part| args.only.is_none_or(|only| only == part);
    if [Part::Calls, Part::Stream, Part::Kernel, Part::Extensions].into_iter().any(chosen) {
        process::require("valgrind", "the package `valgrind` of your system")?;
        process::require("taskset", "the package `util-linux` of your system")?;
    }
    let mut missed = Vec::new();
    if chosen(Part::Calls) {
        missed.extend(calls(workspace, args)?);
    }
    if chosen(Part::Stream) {
        missed.extend(stream::run(workspace, args.quick)?);
    }
    if chosen(Part::Search) {
        missed.extend(search::run(workspace, &args.search, args.quick)?);
    }
    if chosen(Part::Kernel) {
        process::require("strip", STRIP)?;
        missed.extend(kernel::run(workspace, &args.kernel, &args.bench_dir, args.quick)?);
    }
    if chosen(Part::Connections) {
        missed.extend(kernel::run_connections(workspace, &args.kernel, &args.bench_dir, args.quick)?);
    }
    if chosen(Part::Extensions) {
        missed.extend(kernel::run_extensions(workspace, &args.kernel, args.quick)?);
    }
    if chosen(Part::Audit) {
        let head = origin("cargo xtask bench --only audit", args.quick)?;
        missed.extend(audit::run(workspace, args.quick, &head)?);
    }
    if chosen(Part::Idempotency) {
        let head = origin("cargo xtask bench --only idempotency", args.quick)?;
        missed.extend(idempotency::run(workspace, args.quick, &head)?);
    }
    if chosen(Part::Tokens) {
        tokens::run(workspace, &args.search)?;
    }
    ensure!(missed.is_empty(), "missed: {}", missed.join("; "));
    Ok(())
}

/// Measures calls. The names of the figures that are missed.
fn calls(workspace: &Workspace, args: &Args) -> Result<Vec<String>> {
    process::require("python3", "the package `python3` of your system")?;
    process::require("strip", STRIP)?;
    let programs = Programs::build(workspace, args)?;

    println!("counting instructions");
    let mut figures = counted(&programs)?;
    println!("measuring under load");
    figures.extend(timed(&programs, args.quick)?);
    figures.push(size(&programs)?);

    println!("\n{}", origin("cargo xtask bench", args.quick)?);
    let mut table =
        Table::new(["figure", "floor", "rmcp", "ours", "ours/floor", "ours/rmcp", "target", "verdict"]);
    for figure in &figures {
        table.row(figure.cells());
    }
    println!("{table}");
    Ok(figures.into_iter().filter(|f| !f.reached()).map(|f| f.name).collect())
}

/// How to get the program `strip`.
const STRIP: &str = "the package `binutils` of your system";

/// `echo` has typed arguments only and checks them by parsing: it needs no schema validator.
const ECHO_FEATURES: Features = Features::Only("stdio,http");

/// The programs that are measured, and those that measure.
struct Programs {
    scripts: PathBuf,
    peers: PathBuf,
    folder: PathBuf,
    server: Vec<String>,
    client: Vec<String>,
}

impl Programs {
    fn build(workspace: &Workspace, args: &Args) -> Result<Self> {
        let (scripts, peers) = build_peers(workspace, &args.bench_dir)?;
        let words = |command: &String| command.split_whitespace().map(String::from).collect();
        let server = match &args.server {
            Some(command) => words(command),
            None => {
                vec![
                    workspace
                        .build_example("mgp-server-sdk", "echo", ECHO_FEATURES, Profile::Dist)?
                        .display()
                        .to_string(),
                ]
            }
        };
        let client = match &args.client {
            Some(command) => words(command),
            None => vec![
                workspace
                    .build_example("mgp-client-sdk", "bench_client", Features::Default, Profile::Dist)?
                    .display()
                    .to_string(),
            ],
        };
        let folder = workspace.target.join("bench");
        Ok(Self { scripts, peers, folder, server, client })
    }

    fn peer(&self, name: &str, arguments: &[&str]) -> Vec<String> {
        let program = self.peers.join(name).display().to_string();
        std::iter::once(program).chain(arguments.iter().map(|a| (*a).to_owned())).collect()
    }

    fn ours(&self, arguments: &[&str]) -> Vec<String> {
        self.server.iter().cloned().chain(arguments.iter().map(|a| (*a).to_owned())).collect()
    }
}

/// Builds the load driver and the peers. Returns the folder of their scripts and that of the programs.
///
/// Their own folder may be read-only: everything is built under our own target folder.
fn build_peers(workspace: &Workspace, folder: &Path) -> Result<(PathBuf, PathBuf)> {
    let scripts = workspace.root.join(folder);
    let scripts = scripts.canonicalize().with_context(|| {
        format!("no bench programs in {}; name their folder with --bench-dir", scripts.display())
    })?;
    let target = workspace.target.join("bench");
    fs::create_dir_all(&target)?;
    let packages = ["-p", "mcp-load", "-p", "floor", "-p", "rmcp-echo"];
    let mut build = workspace.cargo();
    build.args(["build", "--release", "--locked"]).args(packages).arg("--manifest-path");
    build.arg(scripts.join("Cargo.toml")).env("CARGO_TARGET_DIR", &target);
    process::run(&mut build)?;
    Ok((scripts, target.join("release")))
}

/// Instructions and allocations: one thread, one call at a time, as the difference of two runs.
fn counted(programs: &Programs) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let (mut spawns, mut errors, mut values) = (Figure::none(), Figure::none(), Figure::none());
    let goals = [
        ("stdio", "2025", 16_000.0, Some(8.0)),
        ("stdio", "2026", 21_000.0, Some(8.0)),
        ("HTTP", "2025", 32_000.0, None),
        ("HTTP", "2026", 41_000.0, Some(28.0)),
    ];
    for (transport, era, instructions, allocations) in goals {
        let port = if transport == "HTTP" { Some(process::free_port()?.to_string()) } else { None };
        let (floor, rmcp, ours) = match &port {
            None => (
                programs.peer("floor", &["stdio-tokio"]),
                programs.peer("rmcp-echo", &["stdio-pipes", "--one"]),
                programs.ours(&["stdio"]),
            ),
            Some(port) => (
                programs.peer("floor", &["http", port]),
                programs.peer("rmcp-echo", &["http-stateless", port, "--one"]),
                programs.ours(&["http", port]),
            ),
        };
        let count = |command: &[String]| callgrind::server(programs, era, port.as_deref(), command);
        let [floor, rmcp, ours] = [count(&floor)?, count(&rmcp)?, count(&ours)?];
        let three = |of: fn(&callgrind::Cost) -> f64| [of(&floor), of(&rmcp), of(&ours)];
        let name = format!("instructions a call, {transport} {era}");
        figures.push(Figure::new(&name, three(|c| c.instructions), Target::AtMost(instructions)));
        if let Some(allocations) = allocations {
            let name = format!("allocations a call, {transport} {era}");
            figures.push(Figure::new(&name, three(|c| c.allocations), Target::AtMost(allocations)));
        }
        // Where `tokio::spawn` was inlined its calls do not show; rmcp, where it was not, tells what one costs.
        let one = rmcp.entering / rmcp.spawns;
        spawns.raise([&floor, &rmcp, &ours].map(|cost| (cost.entering / one).round()));
        errors.raise(three(|c| c.errors));
        values.raise(three(|c| c.values));
    }
    let client = [
        callgrind::client(programs, &programs.peer("rmcp-echo", &["client"]), &["raw"])?,
        callgrind::client(programs, &programs.peer("rmcp-echo", &["client"]), &["rmcp"])?,
        callgrind::client(programs, &programs.client, &[])?,
    ];
    figures.push(Figure::new("instructions a call, client", client, Target::AtMost(26_000.0)));
    figures.push(spawns.named("tasks spawned a call, worst leg", Target::AtMost(1.0)));
    figures.push(errors.named("JSON errors built a call, worst leg", Target::AtMost(0.0)));
    figures.push(values.named("instructions in `Value` a call, worst leg", Target::AtMost(0.0)));
    Ok(figures)
}

/// Time and memory: what the kernel and other threads do counts here.
fn timed(programs: &Programs, quick: bool) -> Result<Vec<Figure>> {
    const STDIO: [&str; 3] = ["floor stdio (tokio, 1 thread)", "rmcp stdio_pipes() 1 thread", "ours stdio"];
    // The floor knows one era only.
    const HTTP: [&str; 3] = ["floor http (hyper, 1 thread)", "rmcp http stateless json", "ours http"];
    let results = load::run(programs, quick, load::Cores::Any)?;
    let one_core = load::run(programs, quick, load::Cores::One)?;
    let stdio = |field| results.three(STDIO, "2025", field);
    let http = |era, field| results.three(HTTP, era, field);
    let cpu = load::Field::Of("c64", "server_cpu_us_per_call");
    let list = load::Field::Of("list", "p50_us");
    let memory = load::Field::Of("lat", "server_rss_max_kib");
    Ok(vec![
        Figure::new("server CPU µs a call, 64 outstanding, stdio 2025", stdio(cpu)?, Target::OfRmcp(0.28)),
        Figure::new(
            "server CPU µs a call, 64 outstanding, HTTP 2025",
            http("2025", cpu)?,
            Target::OfRmcp(0.45),
        ),
        Figure::new(
            "server CPU µs a call, 64 outstanding, HTTP 2026",
            http("2026", cpu)?,
            Target::OfRmcp(0.45),
        ),
        Figure::new(
            "p50 µs, sequential, stdio 2025",
            one_core.three(STDIO, "2025", load::Field::Of("lat", "p50_us"))?,
            Target::OfFloor(1.35),
        ),
        Figure::new(
            "p50 µs, `tools/list` of 1,000, stdio 2025",
            one_core.three(STDIO, "2025", list)?,
            Target::OfFloor(2.0),
        ),
        Figure::new(
            "p50 µs, `tools/list` of 1,000, HTTP 2025",
            one_core.three(HTTP, "2025", list)?,
            Target::OfFloor(2.0),
        ),
        Figure::new(
            "ms from start to first reply, stdio 2025",
            stdio(load::Field::Start)?,
            Target::AtMost(5.0),
        ),
        Figure::new(
            "ms from start to first reply, HTTP 2025",
            http("2025", load::Field::Start)?,
            Target::AtMost(5.0),
        ),
        Figure::new("resident KiB, stdio 2025", stdio(memory)?, Target::OfRmcp(1.0)),
        Figure::new("resident KiB, HTTP 2025", http("2025", memory)?, Target::OfRmcp(1.0)),
    ])
}

/// The size of a server binary without its symbols.
fn size(programs: &Programs) -> Result<Figure> {
    let stripped = |program: &Path| stripped(program, &programs.folder);
    let all = [
        stripped(&programs.peers.join("floor"))?,
        stripped(&programs.peers.join("rmcp-echo"))?,
        stripped(Path::new(&programs.server[0]))?,
    ];
    Ok(Figure::new("MB of the stripped server", all, Target::AtMost(5.0)))
}

/// The megabytes of a program without its symbols. The copy without them goes to `folder`.
fn stripped(program: &Path, folder: &Path) -> Result<f64> {
    let copy = folder.join("stripped");
    process::run(Command::new("strip").arg("-o").arg(&copy).arg(program))?;
    #[expect(clippy::cast_precision_loss, reason = "no binary comes near 2^52 bytes")]
    let megabytes = fs::metadata(&copy)?.len() as f64 / 1e6;
    Ok(megabytes)
}
