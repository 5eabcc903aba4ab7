//! `cargo xtask interop`: other SDKs against ours, both ways, over every transport they have and in both eras.
//!
//! Ours are two examples. `everything stdio` and `everything http PORT` serve the fixtures of the conformance suite,
//! the latter at `/mcp` for both eras and at `/sse` and `/message` for the oldest. `interop TRANSPORT ERA TARGET…` is a
//! client; like the clients of others it prints a line of JSON for each check it makes. It checks the fixtures where the
//! server lists them, and otherwise calls what is there: `echo`, or `list_allowed_directories`. A leg counts only if it
//! reports `tools/list` and `tools/call`.
//!
//! `--peer go` is another one: a server in Go behind our kernel, which reads names as Go does. Frameworks for agents stand
//! in front of our kernel, too: `frameworks` says which. `--peer rest` are programs that know OpenAPI and JSON Schema only.
//! `--peer ext-reference` are the servers that are published as examples of the extensions. `--peer oauth` are authorization
//! servers, and clients that sign in at them. `--peer agents` are loops of agents with scripted models, which find one tool out of
//! 265 and call it. `--peer strict-lists` are clients that reject a list with one bad definition in it.

mod agents;
mod frameworks;
pub(crate) mod leg;
mod lenient;
mod oauth;
pub(crate) mod peers;
mod reference;
mod rest;
mod strict_lists;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, bail, ensure};

use crate::{
    process::{self, Background},
    table::Table,
    workspace::Workspace,
};
use frameworks::FRAMEWORKS;
use leg::{Checks, Target};
use peers::{Direction, PEERS, Peer, Tools, Transport};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this peer
    #[arg(long)]
    peer: Option<String>,
    /// Keep the logs of what passed, too
    #[arg(long)]
    keep: bool,
    /// A program in the place of our example `everything`
    #[arg(long, value_name = "PROGRAM")]
    server: Option<PathBuf>,
    /// A program in the place of our example `interop`
    #[arg(long, value_name = "PROGRAM")]
    client: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let wanted = |name: &str| args.peer.as_deref().is_none_or(|peer| peer == name);
    let peers: Vec<_> = PEERS.iter().filter(|p| wanted(p.name)).collect();
    let frameworks: Vec<_> = FRAMEWORKS.iter().filter(|framework| wanted(framework.name)).collect();
    if peers.is_empty() && frameworks.is_empty() && !OWN_LEGS.iter().any(|name| wanted(name)) {
        let frameworks = FRAMEWORKS.iter().map(|framework| framework.name);
        let names: Vec<_> = PEERS.iter().map(|p| p.name).chain(OWN_LEGS).chain(frameworks).collect();
        bail!("no such peer; there are {}", names.join(", "));
    }

    let mut report = Report::new();
    if !peers.is_empty() {
        let server = workspace.example_or(args.server.as_deref(), "mgp-server-sdk", "everything")?;
        let client = workspace.example_or(args.client.as_deref(), "mgp-client-sdk", "interop")?;
        let folder = workspace.target.join("interop");
        let tools = Tools::install(&folder, &workspace.root.join("xtask/interop"), &peers)?;
        let legs = Legs { tools, logs: folder.join("logs"), server, client, keep: args.keep };
        legs.run(&peers, &mut report)?;
    }
    if wanted(RMCP) && args.server.is_none() && args.client.is_none() {
        rmcp(workspace, &mut report);
    }
    if args.server.is_none() && args.client.is_none() {
        let folder = workspace.target.join("interop");
        for leg in KERNEL_LEGS.iter().filter(|leg| wanted(leg.name)) {
            let checks = (leg.checks)(workspace, &folder);
            report.row(leg.name, "kernel", leg.transport, leg.era, checks, None);
        }
    }
    if wanted(oauth::NAME) && args.server.is_none() {
        oauth::run(workspace, &workspace.target.join("interop"), args.client.as_deref(), &mut report)?;
    }
    if args.server.is_none() && args.client.is_none() {
        frameworks::run(workspace, &workspace.target.join("interop"), &frameworks, &mut report)?;
        if wanted(agents::NAME) {
            agents::run(workspace, &workspace.target.join("interop"), &mut report)?;
        }
        if wanted(strict_lists::NAME) {
            strict_lists::run(workspace, &workspace.target.join("interop"), &mut report)?;
        }
    }
    report.finish()
}

/// The requirements of the legs: the programs of both sides and a place for their output.
struct Legs {
    tools: Tools,
    logs: PathBuf,
    server: PathBuf,
    client: PathBuf,
    keep: bool,
}

impl Legs {
    fn run(&self, peers: &[&Peer], report: &mut Report) -> Result<()> {
        if self.logs.exists() {
            fs::remove_dir_all(&self.logs)?;
        }
        fs::create_dir_all(&self.logs)?;
        let port = process::free_port()?;
        let mut everything = Command::new(&self.server);
        everything.args(["http", &port.to_string()]);
        let _ours = Background::start(&mut everything, port, &self.logs.join("everything.log"))?;
        for peer in peers {
            for route in peer.client {
                let target = match route.transport {
                    Transport::Stdio => Target::program(&self.server, &["stdio"]),
                    Transport::Http | Transport::Sse => Target::url(route.transport, port),
                };
                for era in route.eras {
                    let log = self.log(peer, Direction::TheirClient, route.transport, era);
                    let checks = peer.client_checks(&self.tools, route.transport, era, &target, &log);
                    self.note(report, peer, Direction::TheirClient, route.transport, era, checks, &log)?;
                }
            }
            for route in peer.server {
                self.serve(peer, route, report)?;
            }
        }
        Ok(())
    }

    /// Starts their server once for all eras and sends our client to it.
    fn serve(&self, peer: &Peer, route: &peers::Route, report: &mut Report) -> Result<()> {
        let port = process::free_port()?;
        let mut command = peer.server_command(&self.tools, route.transport, port);
        let started = match route.transport {
            Transport::Stdio => Ok(None),
            Transport::Http | Transport::Sse => {
                let log = self.logs.join(format!("{}-{}-server.log", peer.name, route.transport));
                Background::start(&mut command, port, &log).map(Some)
            }
        };
        for era in route.eras {
            let log = self.log(peer, Direction::TheirServer, route.transport, era);
            let checks = match &started {
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
                Ok(None) => self.ours(route.transport, era, &Target::command(&command), &log),
                Ok(Some(_)) => self.ours(route.transport, era, &Target::url(route.transport, port), &log),
            };
            self.note(report, peer, Direction::TheirServer, route.transport, era, checks, &log)?;
        }
        Ok(())
    }

    fn ours(&self, transport: Transport, era: &str, target: &Target, log: &Path) -> Result<Checks> {
        let mut command = Command::new(&self.client);
        command.args([transport.word(), era]).args(target.arguments());
        leg::run(&mut command, log)
    }

    fn log(&self, peer: &Peer, direction: Direction, transport: Transport, era: &str) -> PathBuf {
        self.logs.join(format!("{}-{}-{transport}-{era}.log", peer.name, direction.word()))
    }

    #[expect(clippy::too_many_arguments, reason = "these are the columns of the table")]
    fn note(
        &self,
        report: &mut Report,
        peer: &Peer,
        direction: Direction,
        transport: Transport,
        era: &str,
        checks: Result<Checks>,
        log: &Path,
    ) -> Result<()> {
        let checks = checks.map(|checks| checks.without(peer.lacks(direction, transport, era)));
        let has_passed = report.row(peer.name, direction.title(), transport.word(), era, checks, Some(log));
        if has_passed && !self.keep && log.exists() {
            fs::remove_file(log)?;
        }
        Ok(())
    }
}

/// rmcp needs no process of its own: it is a dev-dependency of our SDKs, and `tests/rmcp.rs` of each is an ordinary
/// test that `cargo test --workspace` runs as well. Here the two stand in the table beside the other peers.
fn rmcp(workspace: &Workspace, report: &mut Report) {
    let sides = [("mgp-server-sdk", Direction::TheirClient), ("mgp-client-sdk", Direction::TheirServer)];
    for (package, direction) in sides {
        let test = ["test", "--quiet", "-p", package, "--test", "rmcp"];
        let outcome = workspace
            .require_member(package)
            .and_then(|_| process::run(workspace.cargo().args(test)))
            .map(|()| Checks::passed("tests/rmcp.rs"));
        report.row(RMCP, direction.title(), "all", "all", outcome, None);
    }
}

struct Report {
    table: Table,
    failed: usize,
}

impl Report {
    fn new() -> Self {
        Self {
            table: Table::new(["peer", "direction", "transport", "era", "passed", "failed", "lacking"]),
            failed: 0,
        }
    }

    /// Adds a leg, tells its faults, with the log that has more of them, and returns whether it passed.
    fn row(
        &mut self,
        peer: &str,
        direction: &str,
        transport: &str,
        era: &str,
        checks: Result<Checks>,
        log: Option<&Path>,
    ) -> bool {
        let checks = checks.unwrap_or_else(|error| Checks::broken(&format!("{error:#}")));
        let verdict = if checks.failed.is_empty() { "ok" } else { "FAILED" };
        println!("{peer:14} {direction:12} {transport:5} {era:6} {verdict}");
        self.failed += usize::from(!checks.failed.is_empty());
        self.table.row([
            peer.into(),
            direction.into(),
            transport.into(),
            era.into(),
            checks.passed.len().to_string(),
            checks.failed.len().to_string(),
            checks.lacking.join(", "),
        ]);
        for fault in &checks.failed {
            let place = log.map(|log| format!("; see {}", log.display())).unwrap_or_default();
            println!("    {fault}{place}");
        }
        checks.failed.is_empty()
    }

    fn finish(self) -> Result<()> {
        print!("\n{}", self.table);
        ensure!(self.failed == 0, "{} legs failed", self.failed);
        Ok(())
    }
}

const RMCP: &str = "rmcp";

/// The legs that are no other SDK's.
const OWN_LEGS: [&str; 7] =
    [RMCP, lenient::NAME, rest::NAME, reference::NAME, oauth::NAME, agents::NAME, strict_lists::NAME];

/// Programs in front of our kernel, or behind it, each with checks of its own.
struct KernelLeg {
    name: &'static str,
    transport: &'static str,
    era: &'static str,
    checks: fn(&Workspace, &Path) -> Result<Checks>,
}

const KERNEL_LEGS: [KernelLeg; 3] = [
    KernelLeg { name: lenient::NAME, transport: "stdio", era: "legacy", checks: lenient::checks },
    KernelLeg { name: rest::NAME, transport: "http", era: "plain", checks: rest::checks },
    KernelLeg { name: reference::NAME, transport: "stdio", era: "plain", checks: reference::checks },
];
