//! Gateways under load.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::figure::{Figure, Limit};
use super::gateway::{Gateway, Upstream};
use super::programs::Programs;
use crate::process::{self, Background};

/// The cores on which driver, gateway and server run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cores {
    /// All on one: what a call takes, without what it takes to wake another core.
    One,
    All,
}

impl Cores {
    fn command(self, words: &[String]) -> Command {
        match self {
            Self::All => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                command
            }
            Self::One => {
                let mut command = Command::new("taskset");
                command.args(["--cpu-list", "0"]).args(words);
                command
            }
        }
    }
}

/// The server behind gateways that speak HTTP to it.
pub(super) struct Server {
    pub(super) port: u16,
    _running: Background,
}

impl Server {
    pub(super) fn start(programs: &Programs) -> Result<Self> {
        Self::start_with(programs, Cores::All, 0)
    }

    pub(super) fn start_with(programs: &Programs, cores: Cores, tools: u32) -> Result<Self> {
        let port = process::free_port()?;
        let words = programs.peer("rmcp-echo", &["http-stateless", &port.to_string()]);
        let log = programs.kernel.folder.join("server.log");
        let mut command = cores.command(&words);
        let running = Background::start(command.env("RMCP_TOOLS", tools.to_string()), port, &log)?;
        Ok(Self { port, _running: running })
    }
}

/// The measurements of one gateway.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) rate: f64,
    pub(super) cpu: f64,
}

impl Measured {
    /// The best of both: what disturbs a run makes it slower only.
    fn best(self, other: Self) -> Self {
        Self {
            p50: self.p50.min(other.p50),
            p99: self.p99.min(other.p99),
            rate: self.rate.max(other.rate),
            cpu: self.cpu.min(other.cpu),
        }
    }
}

/// The measurements of all gateways in the same rounds.
pub(super) struct Best {
    floor: Measured,
    proxy: Option<Measured>,
    ours: Measured,
}

impl Best {
    pub(super) fn figure(&self, name: &str, of: fn(&Measured) -> f64, limit: Limit) -> Figure {
        Figure::ours(name, of(&self.ours), limit)
            .beside_floor(of(&self.floor))
            .beside_proxy(self.proxy.as_ref().map(of))
    }
}

/// Lets all gateways have their turn, so many times.
pub(super) fn rounds(
    programs: &Programs,
    proxy: &Path,
    upstream: Upstream,
    cores: Cores,
    rounds: usize,
    quick: bool,
) -> Result<Best> {
    let server = Server::start_with(programs, cores, 0)?;
    let mut best: Option<Best> = None;
    for _ in 0..rounds {
        let floor = measure(programs, &Gateway::floor(programs, upstream, server.port)?, cores, quick)?;
        // It is measured with the server that it is fastest with.
        let beside = match upstream {
            Upstream::Http => {
                let gateway = Gateway::proxy(programs, proxy, server.port)?;
                Some(measure(programs, &gateway, cores, quick)?)
            }
            Upstream::Stdio => None,
        };
        let ours = measure(programs, &Gateway::kernel(programs, upstream, server.port)?, cores, quick)?;
        best = Some(match best {
            None => Best { floor, proxy: beside, ours },
            Some(best) => Best {
                floor: best.floor.best(floor),
                proxy: best.proxy.zip(beside).map(|(best, beside)| best.best(beside)),
                ours: best.ours.best(ours),
            },
        });
    }
    best.context("there was no round")
}

/// Measures the calls a second of 256 connections without keys as a part of those of 16, each the best of all rounds.
pub(super) fn connections(programs: &Programs, rounds: usize, quick: bool) -> Result<Figure> {
    let server = Server::start(programs)?;
    let (mut floor, mut ours) = ([0.0_f64; 2], [0.0_f64; 2]);
    for _ in 0..rounds {
        for (best, gateway) in [
            (&mut floor, Gateway::floor(programs, Upstream::Http, server.port)?),
            (&mut ours, Gateway::kernel_without_keys(programs, server.port)?),
        ] {
            let log = programs.kernel.folder.join("gateway.log");
            let running = Background::start(&mut Cores::All.command(&gateway.command), gateway.port, &log)?;
            gateway.wait_for(1)?;
            let gateway = Gateway { key: None, ..gateway };
            let secs = if quick { "0.3" } else { "2" };
            let options = ["--secs", secs, "--warmup", "500", "--scenarios", "c16,c256"].map(String::from);
            let mut driver = Command::new(programs.peers.join("mcp-load"));
            let results = drive(programs, &gateway, running.id(), &mut driver, &options)?;
            for (best, name) in best.iter_mut().zip(["c16", "c256"]) {
                *best = best.max(found(&results, name)?.calls_per_s);
            }
        }
    }
    let part = |[few, many]: [f64; 2]| many / few;
    let name = "calls a second of 256 connections beside those of 16, without keys";
    Ok(Figure::ours(name, part(ours), Limit::AtLeast(0.9)).beside_floor(part(floor)))
}

fn found<'r>(results: &'r [Scenario], name: &str) -> Result<&'r Scenario> {
    let found = results.iter().find(|result| result.name == name);
    found.with_context(|| format!("mcp-load does not tell of `{name}`"))
}

fn measure(programs: &Programs, gateway: &Gateway, cores: Cores, quick: bool) -> Result<Measured> {
    let log = programs.kernel.folder.join("gateway.log");
    let running = Background::start(&mut cores.command(&gateway.command), gateway.port, &log)?;
    gateway.wait_for(1)?;
    let options = if quick {
        ["--secs", "0.3", "--lat-calls", "300", "--warmup", "200"]
    } else {
        ["--secs", "1", "--lat-calls", "2000", "--warmup", "1000"]
    };
    let options = options.into_iter().chain(["--scenarios", "lat,c64"]).map(String::from);
    let driver = [programs.peers.join("mcp-load").display().to_string()];
    let results =
        drive(programs, gateway, running.id(), &mut cores.command(&driver), &options.collect::<Vec<_>>())?;
    let (one, many) = (found(&results, "lat")?, found(&results, "c64")?);
    Ok(Measured {
        p50: one.p50_us,
        p99: one.p99_us,
        rate: many.calls_per_s,
        cpu: many.server_root_cpu_us_per_call.unwrap_or_default(),
    })
}

#[derive(Deserialize)]
struct Output {
    results: Vec<Scenario>,
}

/// The report of the driver on a scenario.
#[derive(Deserialize)]
pub(super) struct Scenario {
    #[serde(rename = "scenario")]
    name: String,
    errors: u64,
    calls_per_s: f64,
    p50_us: f64,
    p99_us: f64,
    server_root_cpu_us_per_call: Option<f64>,
    pub(super) server_rss_max_kib: Option<f64>,
}

/// Has the load driver call the tools behind a gateway that runs.
pub(super) fn drive(
    programs: &Programs,
    gateway: &Gateway,
    pid: u32,
    driver: &mut Command,
    options: &[String],
) -> Result<Vec<Scenario>> {
    let Gateway { port, path, prefix, key, .. } = gateway;
    driver.args(["--url", &format!("http://127.0.0.1:{port}{path}"), "--tool-prefix", prefix]);
    if let Some(key) = key {
        driver.args(["--header", &format!("Authorization: Bearer {key}")]);
    }
    let json = process::output(driver.args(["--pid", &pid.to_string()]).args(options))
        .with_context(|| format!("the log is in {}", programs.kernel.folder.display()))?;
    let output: Output = serde_json::from_str(&json).context("mcp-load wrote JSON of an unknown form")?;
    for result in &output.results {
        ensure!(result.errors == 0, "`{}` failed {} times", result.name, result.errors);
    }
    Ok(output.results)
}
