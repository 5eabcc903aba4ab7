//! Results that are streamed, with our SDKs at both ends: the example `bench_stream`.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};

use super::callgrind::{self, Total};
use super::gates::{NOISE, number};
use super::origin::origin;
use crate::workspace::{Features, Profile, Workspace};
use crate::{process, table::Table};

/// Measures streaming. The names of the figures that are missed.
pub(super) fn run(workspace: &Workspace, quick: bool) -> Result<Vec<String>> {
    let folder = workspace.target.join("bench");
    fs::create_dir_all(&folder)?;
    let bench = Bench {
        program: workspace.build_example(
            "mgp-client-sdk",
            "bench_stream",
            Features::Default,
            Profile::Dist,
        )?,
        folder,
    };
    println!("measuring streams");
    let [filled, grown] = bench.numbers(&["stopped", "5"])?;
    let chunk = bench.counted([5_000, 20_000], &["memory"])?;
    let call = |peers| Ok::<_, anyhow::Error>(bench.counted([500, 2_500], &["calls", peers])?.allocations);
    let without = call("without")?;
    let more = |peers| call(peers).map(|allocations| (allocations - without).max(0.0));
    let (plain, unasked) = (more("plain")?, more("streaming")?);
    let figures = [
        Figure::at_least("chunks a second, in-memory pair", bench.best("memory", quick)?, 200_000.0),
        Figure::at_least("chunks a second, stdio", bench.best("stdio", quick)?, 60_000.0),
        Figure::at_most("instructions a chunk, both ends", chunk.instructions, 24_000.0),
        Figure::at_most("allocations a chunk, both ends", chunk.allocations, 8.0),
        Figure::at_most("KiB that a reader takes who stops: 1st second", filled, 4096.0),
        Figure::at_most("KiB that a reader takes who stops: until the 5th", grown, 64.0),
        Figure::at_most("allocations more a plain call, MCP session", plain, 0.0),
        Figure::at_most("allocations more a plain call, session that streams", unasked, 0.0),
    ];

    println!("\n{}", origin("cargo xtask bench --only stream", quick)?);
    let mut table = Table::new(["figure", "ours", "target", "verdict"]);
    for figure in &figures {
        table.row(figure.cells());
    }
    println!(
        "{table}\nChunks are texts of 32 bytes; a second is one of one core, and varies with the machine.\n"
    );
    Ok(figures.iter().filter(|figure| !figure.reached()).map(|figure| figure.name.to_owned()).collect())
}

/// The program that is measured, and where its profiles go.
struct Bench {
    program: PathBuf,
    folder: PathBuf,
}

impl Bench {
    /// The most chunks a second of several runs, in which all processes share one core.
    fn best(&self, pair: &str, quick: bool) -> Result<f64> {
        let mut best = 0.0_f64;
        for _ in 0..if quick { 1 } else { RUNS } {
            let [rate] = self.numbers(&[pair, CHUNKS_TIMED])?;
            best = best.max(rate);
        }
        Ok(best)
    }

    /// Returns the numbers that the program prints.
    fn numbers<const N: usize>(&self, arguments: &[&str]) -> Result<[f64; N]> {
        let mut pinned = Command::new("taskset");
        let output = process::output(pinned.args(["--cpu-list", "0"]).arg(&self.program).args(arguments))?;
        let numbers: Option<Vec<f64>> = output.split_whitespace().map(|word| word.parse().ok()).collect();
        let numbers = numbers.and_then(|numbers| <[f64; N]>::try_from(numbers).ok());
        numbers.with_context(|| format!("bench_stream printed something unexpected: {output}"))
    }

    /// Returns the cost of each chunk or call, whose number is the last argument.
    fn counted(&self, times: [u32; 2], arguments: &[&str]) -> Result<Total> {
        let program = self.program.to_str().context("the target folder has no UTF-8 name")?;
        callgrind::each(times, |times| {
            let command = [program].into_iter().chain(arguments.iter().copied());
            callgrind::whole(command.chain([times]), &self.folder)
        })
    }
}

/// One measure, and how large or small it may be.
pub(super) struct Figure {
    pub(super) name: &'static str,
    ours: f64,
    target: Target,
}

#[derive(Clone, Copy)]
enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Figure {
    pub(super) const fn at_least(name: &'static str, ours: f64, limit: f64) -> Self {
        Self { name, ours, target: Target::AtLeast(limit) }
    }

    pub(super) const fn at_most(name: &'static str, ours: f64, limit: f64) -> Self {
        Self { name, ours, target: Target::AtMost(limit) }
    }

    pub(super) fn reached(&self) -> bool {
        match self.target {
            Target::AtLeast(limit) => self.ours >= limit,
            Target::AtMost(limit) => self.ours <= limit + NOISE,
        }
    }

    pub(super) fn cells(&self) -> [String; 4] {
        let target = match self.target {
            Target::AtLeast(limit) => format!("≥ {}", number(limit)),
            Target::AtMost(limit) => format!("≤ {}", number(limit)),
        };
        let verdict = if self.reached() { "ok" } else { "MISSED" };
        [self.name.to_owned(), number(self.ours), target, verdict.to_owned()]
    }
}

/// The number of chunks of a timed run, which takes a good part of a second.
const CHUNKS_TIMED: &str = "300000";
/// Other programs take their share of some runs.
const RUNS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_to_be_high_and_a_cost_low() {
        assert!(Figure::at_least("x", 10.0, 10.0).reached());
        assert!(!Figure::at_least("x", 9.9, 10.0).reached());
        assert!(Figure::at_most("x", 0.02, 0.0).reached());
        assert!(!Figure::at_most("x", 1.0, 0.0).reached());
        assert_eq!(Figure::at_least("x", 9.0, 10.0).cells(), ["x", "9", "≥ 10", "MISSED"]);
    }
}
