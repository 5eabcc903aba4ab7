//! The kernel as a gateway, beside a floor and beside the `mcp-proxy` of crates.io: `mgp serve`, with all that stands
//! between a client and a server switched on.

mod count;
mod extensions;
mod figure;
mod gateway;
mod load;
mod programs;
mod rpc;
mod scale;

use std::path::Path;

use anyhow::Result;

use self::figure::{Figure, Limit};
use self::gateway::{Gateway, Upstream};
use self::load::Cores;
pub(super) use self::programs::Options;
use self::programs::{KernelProgram, Programs};
use super::origin::origin;
use super::stripped;
use crate::table::Table;
use crate::workspace::Workspace;

/// Measures the kernel. The names of the figures that are missed.
pub(super) fn run(
    workspace: &Workspace,
    options: &Options,
    bench_dir: &Path,
    quick: bool,
) -> Result<Vec<String>> {
    let programs = programs(workspace, options, bench_dir)?;
    let proxy = programs::proxy(workspace, options)?;
    let mut figures = Vec::new();
    println!("counting instructions");
    figures.extend(counted(&programs)?);
    println!("measuring under load");
    figures.extend(timed(&programs, &proxy, quick)?);
    println!("measuring many servers");
    figures.extend(scale::figures(&programs)?);
    let size = stripped(&programs.kernel.program, &programs.kernel.folder)?;
    figures.push(Figure::ours("MB of the stripped program", size, Limit::AtMost(34.0)));

    Ok(report(figures, &origin("cargo xtask bench --only kernel", quick)?))
}

/// Measures the kernel with many connections at once. The names of the figures that are missed.
pub(super) fn run_connections(
    workspace: &Workspace,
    options: &Options,
    bench_dir: &Path,
    quick: bool,
) -> Result<Vec<String>> {
    let programs = programs(workspace, options, bench_dir)?;
    let figure = load::connections(&programs, if quick { 1 } else { ROUNDS }, quick)?;
    Ok(report(vec![figure], &origin("cargo xtask bench --only connections", quick)?))
}

/// Measures what the optional extensions add to a call. The names of the figures that are missed.
pub(super) fn run_extensions(workspace: &Workspace, options: &Options, quick: bool) -> Result<Vec<String>> {
    let kernel = KernelProgram::build(workspace, options)?;
    println!("counting instructions");
    let figures = extensions::figures(&kernel)?;
    Ok(report(figures, &origin("cargo xtask bench --only extensions", quick)?))
}

/// Builds the program `mgp`, and those that it is measured with.
fn programs(workspace: &Workspace, options: &Options, bench_dir: &Path) -> Result<Programs> {
    let (_, peers) = super::build_peers(workspace, bench_dir)?;
    Programs::build(workspace, options, peers)
}

/// Prints figures, and returns the names of those that are missed.
fn report(figures: Vec<Figure>, origin: &str) -> Vec<String> {
    println!("\n{origin}");
    let mut table = Table::new(["figure", "floor", "mcp-proxy", "ours", "target", "verdict"]);
    for figure in &figures {
        table.row(figure.cells());
    }
    println!("{table}");
    figures.into_iter().filter(Figure::missed).map(|figure| figure.name).collect()
}

/// Instructions and allocations a call: one call at a time, as the difference of two runs.
fn counted(programs: &Programs) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (way, instructions) in [(Upstream::Http, 85_000.0), (Upstream::Stdio, 60_000.0)] {
        let floor = count::each(programs, way, Gateway::floor)?;
        let ours = count::each(programs, way, Gateway::kernel)?;
        let figure = |name: &str, floor, ours, limit| {
            Figure::ours(&format!("{name}, HTTP to {}", way.name()), ours, limit).beside_floor(floor)
        };
        figures.extend([
            figure(
                "instructions a call without SHA-256",
                floor.instructions,
                ours.instructions,
                Limit::AtMost(instructions),
            ),
            figure("instructions a call of SHA-256", floor.hashing, ours.hashing, Limit::None),
            figure("allocations a call", floor.allocations, ours.allocations, Limit::AtMost(45.0)),
        ]);
    }
    Ok(figures)
}

/// Times, throughput, processor and memory: the best of several rounds, in each of which all gateways have their turn.
fn timed(programs: &Programs, proxy: &Path, quick: bool) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let rounds = if quick { 1 } else { ROUNDS };
    for (cores, on) in [(Cores::One, "one core"), (Cores::All, "all cores")] {
        for way in [Upstream::Http, Upstream::Stdio] {
            let best = load::rounds(programs, proxy, way, cores, rounds, quick)?;
            let name = |what: &str| format!("{what}, HTTP to {}, {on}", way.name());
            figures.push(best.figure(&name("p50 µs, sequential"), |of| of.p50, Limit::OfFloor(1.7)));
            if way == Upstream::Stdio {
                continue;
            }
            figures.push(best.figure(&name("the same"), |of| of.p50, Limit::OfProxy(0.5)));
            if cores == Cores::All {
                figures.push(best.figure(&name("p99 µs, sequential"), |of| of.p99, Limit::None));
                figures.push(best.figure(
                    &name("calls a second, 64 outstanding"),
                    |of| of.rate,
                    Limit::TimesProxy(3.0),
                ));
                figures.push(best.figure(
                    &name("processor µs a call, 64 outstanding"),
                    |of| of.cpu,
                    Limit::OfFloor(2.2),
                ));
                figures.push(best.figure(
                    &name("the same, processor µs a call, 64 outstanding"),
                    |of| of.cpu,
                    Limit::OfProxy(0.4),
                ));
            }
        }
    }
    Ok(figures)
}

/// Other programs take their share of some rounds.
const ROUNDS: usize = 3;
