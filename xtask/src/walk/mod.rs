//! `cargo xtask walk`: what a new user does with `mgp`, each step with a look at what came out.
//!
//! Somebody has Claude Desktop with two reference servers: `mgp` takes them over, shows, searches and calls their tools,
//! serves them to the inspector and to the SDKs of TypeScript and Python, brings a server back that was killed, and follows
//! a change of `mgp.toml`. What a person decides is in `decisions`, and what goes wrong in `mistakes`. The SDKs' scripts are
//! those of `cargo xtask interop`; their fixtures come with the third server, which the change of the file adds.

mod decisions;
pub(crate) mod home;
mod mistakes;
mod patterns;
mod template;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::{
    interop::{
        leg::{Sample, Target},
        peers::{PEERS, Peer, Tools, Transport},
    },
    process::{self, Background},
    table::Table,
    workspace::{Features, Profile, Workspace},
};
use home::{Home, words};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Does what the pages of docs/patterns say, in place of what a new user does
    #[arg(long)]
    patterns: bool,
    /// Types every command of the README and the first documents, as an account that has nothing yet
    #[arg(long, conflicts_with = "patterns")]
    documents: bool,
    /// The documents to follow, such as `readme` or `permissions`; all if left out
    #[arg(long, requires = "documents", value_name = "NAME")]
    only: Vec<String>,
    /// A program in the place of `mgp`, built in release mode
    #[arg(long, value_name = "PROGRAM")]
    mgp: Option<PathBuf>,
    /// A program in the place of our example `everything`
    #[arg(long, value_name = "PROGRAM")]
    server: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let mgp = if let Some(program) = &args.mgp {
        // It is run in another folder.
        std::path::absolute(program)?
    } else {
        workspace.build_program("mgp-patterns", "mgp-patterns", Profile::Release)?;
        workspace.build_mgp()?
    };
    if args.patterns {
        return patterns::run(workspace, &mgp);
    }
    if args.documents {
        if args.mgp.is_none() {
            for (package, example) in README_EXAMPLES {
                workspace.build_example(package, example, Features::Default, Profile::Release)?;
            }
        }
        return follow_documents(workspace, &mgp, &args.only);
    }
    let fixtures = workspace.example_or(args.server.as_deref(), "mgp-server-sdk", "everything")?;
    let clients: Vec<_> = PEERS.iter().filter(|peer| !peer.client.is_empty()).collect();
    let scripts = workspace.root.join("xtask/interop");
    let tools =
        Tools::install(&workspace.target.join("interop"), &scripts, &PEERS.iter().collect::<Vec<_>>())?;
    let home = Home::new(workspace.target.join("walk"), mgp)?;
    let mut walk = Walk { home, tools, fixtures, report: Report::new() };
    walk.look_around();
    walk.decide(&workspace.root.join("xtask"));
    walk.mistakes();
    walk.serve(&clients)?;
    walk.serve_stdio(&clients);
    walk.step("mgp new server", |walk| template::walk(workspace, &walk.home));
    walk.step("the record is intact", |walk| verified(&walk.home));
    walk.report.finish()
}

/// Types the commands of the documents. The examples that the README runs lie in a folder beside `mgp`.
fn follow_documents(workspace: &Workspace, mgp: &Path, only: &[String]) -> Result<()> {
    let mut script = Command::new("python3");
    script.arg(workspace.root.join("xtask/walk/documents.py")).arg(mgp).arg(&workspace.root);
    process::run(script.arg(workspace.target.join("walk-documents")).args(only))
}

struct Walk {
    home: Home,
    tools: Tools,
    fixtures: PathBuf,
    report: Report,
}

impl Walk {
    fn step(&mut self, what: &str, step: impl FnOnce(&Self) -> Result<String>) {
        let began = Instant::now();
        let outcome = step(self);
        self.report.row(what, began, outcome);
    }

    /// Runs the steps before anything is served.
    fn look_around(&mut self) {
        self.step("mgp import", |walk| {
            let everything = walk.tools.module("server-everything");
            let mut filesystem = walk.tools.module("server-filesystem");
            filesystem.arg(walk.home.folder()).env("FILES_TOKEN", decisions::SECRET);
            let servers = [("everything", everything), ("filesystem", filesystem)];
            walk.home.write_client(&servers)?;
            if let Err(error) = walk.home.run(&["import"]) {
                // The steps that follow tell something nevertheless.
                for (name, command) in &servers {
                    walk.home.add(name, command)?;
                }
                return Err(error);
            }
            let ids: Vec<_> = walk.home.servers()?.into_iter().map(|server| server.id).collect();
            ensure!(ids == ["everything", "filesystem"], "there are {ids:?}");
            Ok(ids.join(", "))
        });
        self.step("mgp servers", |walk| {
            let servers = walk.home.servers()?;
            ensure!(servers.len() == 2, "{servers:?}");
            ensure!(servers.iter().all(|server| server.state == "connected"), "{servers:?}");
            Ok("two, connected".into())
        });
        self.step("mgp tools", |walk| {
            let listed = walk.home.run(&["tools"])?;
            for tool in ["everything.echo", "filesystem.list_allowed_directories"] {
                ensure!(listed.contains(tool), "{tool} is not listed");
            }
            Ok(format!("{} tools", listed.lines().count().saturating_sub(1)))
        });
        self.step("mgp search", |walk| {
            let found: Found =
                walk.home.json(&["search", "read", "the", "contents", "of", "a", "text", "file"])?;
            let first = found.tools.first().context("nothing was found")?;
            ensure!(first.name.starts_with("filesystem.read"), "{} is found first", first.name);
            Ok(first.name.clone())
        });
        self.step("mgp search --why", |walk| {
            let why = walk.home.run(&["search", "--why", "what is in this folder"])?;
            let (head, tools) = why.split_once('\n').context("nothing is shown")?;
            ensure!(head.contains("WORDS") && head.contains("MEANING"), "no shares are shown: {head}");
            let first = tools.split_whitespace().next().context("nothing was found")?;
            ensure!(first.starts_with("filesystem."), "{first} is found first");
            Ok(format!("{first}, in everyday words"))
        });
        self.step("mgp doctor", |walk| {
            let doctor = walk.home.run(&["doctor"])?;
            ensure!(doctor.contains("embedder"), "doctor does not name the embedder: {doctor}");
            Ok("it names the embedder".into())
        });
        self.step("mgp call", |walk| {
            let said = walk.home.run(&["call", "everything.echo", "message=hello"])?;
            ensure!(said.contains("hello"), "it says {said:?}");
            Ok(said.trim().into())
        });
    }

    /// Runs the steps while a kernel serves over HTTP.
    fn serve(&mut self, clients: &[&Peer]) -> Result<()> {
        let port = process::free_port()?;
        let address = format!("127.0.0.1:{port}");
        let mut command = self.home.mgp(&["serve", "--http", &address, "--watch"]);
        let _serving = Background::start(&mut command, port, &self.home.folder().join("serve.log"))?;
        self.step("a change of mgp.toml is followed", |walk| {
            process::until("the servers", || Ok(walk.home.process_of("everything")?.is_some()))?;
            let before = walk.home.process_of("everything")?;
            let mut fixtures = Command::new(&walk.fixtures);
            fixtures.arg("stdio");
            walk.home.add("fixtures", &fixtures)?;
            process::until("the added server", || Ok(walk.home.process_of("fixtures")?.is_some()))?;
            ensure!(walk.home.process_of("everything")? == before, "another server was started anew");
            Ok("a server was added, the others were left alone".into())
        });
        self.step("a killed server returns", |walk| {
            let before = walk.home.process_of("everything")?.context("it does not run")?;
            process::run(Command::new("kill").args(["-KILL", &before.to_string()]))?;
            process::until("the killed server", || {
                Ok(walk.home.process_of("everything")?.is_some_and(|now| now != before))
            })?;
            let said = walk.home.run(&["call", "everything.echo", "message=again"])?;
            ensure!(said.contains("again"), "it says {said:?}");
            Ok(said.trim().into())
        });
        self.clients(clients, Transport::Http, &Target::url(Transport::Http, port).sampled(OF_FIXTURES));
        self.step("the record is intact while it is written", |walk| verified(&walk.home));
        Ok(())
    }

    /// Runs the steps in which the client starts `mgp serve` itself.
    fn serve_stdio(&mut self, clients: &[&Peer]) {
        let words: Vec<_> = words(&self.home.mgp(&[])).collect();
        let home = format!("HOME={}", self.home.folder().display());
        // Clients start it with an environment of their own making.
        let mut command = Command::new("env");
        command.args(["-u", "XDG_RUNTIME_DIR", "-u", "XDG_CONFIG_HOME", "-u", "XDG_STATE_HOME"]);
        command.arg(home).args(words).arg("serve");
        self.clients(clients, Transport::Stdio, &Target::command(&command).sampled(OF_FIXTURES));
        self.step("mgp status", |walk| decisions::status(&walk.home));
        self.step("the kernel that the clients shared is stopped", |walk| {
            let stopped: Stopped = walk.home.json(&["stop"])?;
            Ok(format!("process {}", stopped.pid))
        });
    }

    fn clients(&mut self, clients: &[&Peer], transport: Transport, target: &Target) {
        for peer in clients {
            let routes = peer.client.iter().filter(|route| route.transport == transport);
            for era in routes.flat_map(|route| route.eras) {
                let log = self.home.folder().join(format!("{}-{transport}-{era}.log", peer.name));
                self.step(&format!("{} over {transport}, {era}", peer.name), |walk| {
                    let checks = peer.client_checks(&walk.tools, transport, era, target, &log)?;
                    ensure!(checks.failed.is_empty(), "{}; see {}", checks.failed.join("; "), log.display());
                    Ok(format!("{} checks", checks.passed.len()))
                });
            }
        }
    }
}

fn verified(home: &Home) -> Result<String> {
    let verified: Verified = home.json(&["audit", "verify"])?;
    ensure!(verified.intact, "it was changed");
    ensure!(verified.events > 0, "it is empty");
    Ok(format!("{} events", verified.events))
}

#[derive(Deserialize)]
struct Found {
    tools: Vec<FoundTool>,
}

#[derive(Deserialize)]
struct FoundTool {
    name: String,
}

#[derive(Deserialize)]
struct Stopped {
    pid: u32,
}

#[derive(Deserialize)]
struct Verified {
    intact: bool,
    events: u64,
}

struct Report {
    table: Table,
    failed: usize,
}

impl Report {
    fn new() -> Self {
        Self { table: Table::new(["step", "ms", "outcome"]), failed: 0 }
    }

    fn row(&mut self, what: &str, began: Instant, outcome: Result<String>) {
        let ms = began.elapsed().as_millis();
        let text = outcome.unwrap_or_else(|error| {
            self.failed += 1;
            println!("{what} FAILED: {error:#}");
            "FAILED".into()
        });
        self.table.row([what.into(), ms.to_string(), text]);
    }

    fn finish(self) -> Result<()> {
        print!("\n{}", self.table);
        ensure!(self.failed == 0, "{} steps failed", self.failed);
        Ok(())
    }
}

/// So few tools are listed whole, each under the name of its server.
const OF_FIXTURES: Sample = Sample {
    lists: "fixtures__test_simple_text",
    call: &["--tool-name", "fixtures__test_simple_text"],
    answer: "This is a simple text response for testing.",
};

const README_EXAMPLES: [(&str, &str); 4] = [
    ("mgp-server-sdk", "streaming"),
    ("mgp-client-sdk", "supervise"),
    ("mgp-server-sdk", "echo"),
    ("mgp-client-sdk", "two_layers"),
];
