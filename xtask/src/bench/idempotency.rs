//! What the keys of calls cost, which the example `idempotency_memory` of `mgp-lifecycle` measures.

use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use crate::table::Table;
use crate::workspace::{Features, Profile, Workspace};

/// Measures the memory of keys and the time of calls that come again, and prints both below `head`. The names of the figures
/// that are missed.
pub(super) fn run(workspace: &Workspace, quick: bool, head: &str) -> Result<Vec<String>> {
    let example = workspace.build_example(
        "mgp-lifecycle",
        "idempotency_memory",
        Features::Only("ext"),
        Profile::Release,
    )?;
    println!("calling with keys");
    let mut best = [f64::INFINITY; 2];
    for _ in 0..if quick { 1 } else { 5 } {
        let output = process::output(&mut Command::new(&example))?;
        let figures = read(&output).with_context(|| format!("idempotency_memory printed {output}"))?;
        best = [best[0].min(figures[0]), best[1].min(figures[1])];
    }
    let mut missed = Vec::new();
    let mut table = Table::new(["figure", "ours", "target", "verdict"]);
    for ((name, limit), ours) in FIGURES.into_iter().zip(best) {
        let is_reached = ours <= limit;
        let verdict = if is_reached { "ok" } else { "MISSED" };
        table.row([name.into(), format!("{ours:.2}"), format!("≤ {limit}"), verdict.into()]);
        if !is_reached {
            missed.push(name.to_owned());
        }
    }
    println!("\n{head}");
    println!("{table}");
    Ok(missed)
}

/// Returns the figures, with which the lines begin.
fn read(output: &str) -> Option<[f64; 2]> {
    let figures: Option<Vec<f64>> =
        output.lines().map(|line| line.split_whitespace().next()?.parse().ok()).collect();
    figures?.try_into().ok()
}

/// What is measured, and how large it may be.
const FIGURES: [(&str, f64); 2] =
    [("MB that 10,000 keys take, with results of 512 bytes", 20.0), ("µs, a call that comes again", 5.0)];
