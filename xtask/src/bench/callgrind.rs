//! Instructions a call, under valgrind: they repeat within a percent on any machine.

use std::{
    fs,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use super::Programs;
use crate::process;

/// What one call costs a server.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) instructions: f64,
    pub(super) allocations: f64,
    /// Tasks spawned, as far as `tokio::spawn` was not inlined.
    pub(super) spawns: f64,
    /// Instructions in the function that enters each spawned task in tokio's list; it is never inlined.
    pub(super) entering: f64,
    /// JSON errors that are built and thrown away.
    pub(super) errors: f64,
    /// Instructions spent in `serde_json::Value`.
    pub(super) values: f64,
}

/// Lets `cg.py` drive a server, over HTTP when there is a port.
pub(super) fn server(programs: &Programs, era: &str, port: Option<&str>, command: &[String]) -> Result<Cost> {
    let mut python = Command::new("python3");
    python.arg(programs.scripts.join("cg.py")).arg("--bin").arg(&programs.peers);
    python.args(["--era", era, "--top", "1000"]);
    if let Some(port) = port {
        python.args(["--port", port]);
    }
    let output = process::output(python.arg("x").arg("--").args(command))?;
    parse(&output)
        .with_context(|| format!("cg.py printed something unexpected about `{}`", command.join(" ")))
}

/// `x era 2025 conc 1: 8403 instr/call | malloc 1.0 memcpy 2.0 spawn 0.0 json errors 0.0`, and then the costs of each
/// function, `273  serde_json::value::…`.
fn parse(output: &str) -> Option<Cost> {
    let mut lines = output.lines();
    let words: Vec<_> = lines.next()?.split_whitespace().collect();
    let place = |word: &str| words.iter().position(|w| *w == word);
    let after = |word: &str| words.get(place(word)? + 1)?.parse().ok();
    let mut cost = Cost {
        instructions: words.get(place("instr/call")?.checked_sub(1)?)?.parse().ok()?,
        allocations: after("malloc")?,
        spawns: after("spawn")?,
        errors: after("errors")?,
        entering: 0.0,
        values: 0.0,
    };
    for line in lines {
        let (instructions, function) = line.trim().split_once(' ')?;
        if function.contains("OwnedTasks<S>::bind_inner") {
            cost.entering += instructions.parse::<f64>().ok()?;
        }
        if makes_values(function.trim()) {
            cost.values += instructions.parse::<f64>().ok()?;
        }
    }
    Some(cost)
}

/// A function that only names `Value` among its types makes none.
fn makes_values(function: &str) -> bool {
    let name = function.trim_start_matches('<');
    name.starts_with("serde_json::value::") || name.contains("drop_in_place<serde_json::value::Value>")
}

/// A client is one process with its peer inside: `COMMAND CALLS OUTSTANDING …`, as the difference of two runs.
pub(super) fn client(programs: &Programs, command: &[String], more: &[&str]) -> Result<f64> {
    let few = client_total(programs, command, FEW, more)?;
    let many = client_total(programs, command, MANY, more)?;
    Ok((many - few) / f64::from(MANY - FEW))
}

fn client_total(programs: &Programs, command: &[String], calls: u32, more: &[&str]) -> Result<f64> {
    let out = programs.folder.join("callgrind.out.client");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind"]).arg(format!("--callgrind-out-file={}", out.display()));
    valgrind.args(command).args([&calls.to_string(), "1"]).args(more);
    process::run(valgrind.stdout(Stdio::null()))?;
    let profile = fs::read_to_string(&out)?;
    fs::remove_file(&out)?;
    let total = |line: &str| {
        line.strip_prefix("summary:").or_else(|| line.strip_prefix("totals:"))?.trim().parse().ok()
    };
    profile.lines().find_map(total).context("callgrind wrote no total")
}

const FEW: u32 = 500;
const MANY: u32 = 2500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_the_script_is_understood() {
        let output = "x    era 2026 conc   1:     87861 instr/call | malloc  108.0 memcpy  205.0 spawn  2.0 json \
            errors  13.0\n      2000  other::function\n       161  <serde_json::value::de::V as X>::visit\n         \
            53  core::ptr::drop_in_place<serde_json::value::Value>\n        \
            166  tokio::runtime::task::list::OwnedTasks<S>::bind_inner\n";
        let cost = Cost {
            instructions: 87861.0,
            allocations: 108.0,
            spawns: 2.0,
            entering: 166.0,
            errors: 13.0,
            values: 214.0,
        };
        assert_eq!(parse(output), Some(cost));
        assert_eq!(parse("Traceback\n"), None);
    }
}
