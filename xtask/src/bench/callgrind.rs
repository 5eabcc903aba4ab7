//! Instructions a call, under valgrind: they repeat within a percent on any machine.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use super::Programs;
use crate::process;

/// The cost of one call for a server.
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
    let cost = each([FEW, MANY], |calls| {
        let arguments = command.iter().map(String::as_str).chain([calls, "1"]);
        whole(arguments.chain(more.iter().copied()), &programs.folder)
    });
    Ok(cost?.instructions)
}

/// The cost of a whole run of a program, or of a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Total {
    /// All instructions but those of SHA-256.
    pub(super) instructions: f64,
    /// The instructions of SHA-256. Valgrind offers no SHA extensions, so programs compute it in software there; nearly
    /// every processor of today does in hardware.
    pub(super) hashing: f64,
    pub(super) allocations: f64,
}

/// Returns the cost of each repetition of what a program does, as the difference between a run with many repetitions
/// and one with few.
pub(super) fn each([few, many]: [u32; 2], run: impl Fn(&str) -> Result<Total>) -> Result<Total> {
    let (fewer, more) = (run(&few.to_string())?, run(&many.to_string())?);
    let times = f64::from(many - few);
    Ok(Total {
        instructions: (more.instructions - fewer.instructions) / times,
        hashing: (more.hashing - fewer.hashing) / times,
        allocations: (more.allocations - fewer.allocations) / times,
    })
}

/// Counts what a program does. The profile is written to `folder`, and not kept.
pub(super) fn whole<'a>(command: impl IntoIterator<Item = &'a str>, folder: &Path) -> Result<Total> {
    let out = folder.join("callgrind.out");
    process::run(profiled(command, &out).stdout(Stdio::null()))?;
    read(&out)
}

/// A command that counts what another one does, and writes its profile to `out`.
pub(super) fn profiled<'a>(command: impl IntoIterator<Item = &'a str>, out: &Path) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind"]).arg(format!("--callgrind-out-file={}", out.display()));
    valgrind.args(command);
    valgrind
}

/// A command as [`profiled`] makes it, which counts what a function does, with all that it calls, and nothing else. The
/// count is the same in each run, whatever other threads of the program have to do at the time.
pub(super) fn profiled_in<'a>(
    function: &str,
    command: impl IntoIterator<Item = &'a str>,
    out: &Path,
) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind", "--collect-atstart=no"]);
    valgrind.arg(format!("--toggle-collect={function}"));
    valgrind.arg(format!("--callgrind-out-file={}", out.display())).args(command);
    valgrind
}

/// Reads the costs from a profile, and removes the profile.
pub(super) fn read(out: &Path) -> Result<Total> {
    let profile = fs::read_to_string(out)?;
    fs::remove_file(out)?;
    total(&profile).context("callgrind wrote no total")
}

/// Reads `summary: 1000`; the calls of each function, `cfn=(7) malloc`, from the second time on without the name, and in the
/// next line `calls=3 …`; and the function's own costs, `fn=(8) sha2::compress` with lines `16 90` behind it. The line behind
/// `calls=` has the costs of the function that is called, which stand there as well.
fn total(profile: &str) -> Option<Total> {
    let mut instructions = None;
    let (mut allocations, mut hashing) = (0, 0);
    let (mut function, mut called, mut is_of_called) = ("", "", false);
    let (mut allocators, mut hashers) = (Vec::new(), Vec::new());
    for line in profile.lines() {
        let begun = line.strip_prefix("fn=");
        if let Some(name) = line.strip_prefix("cfn=").or(begun) {
            let (id, name) = name.split_once(' ').unwrap_or((name, ""));
            if ALLOCATORS.contains(&name) {
                allocators.push(id);
            } else if HASHES.iter().any(|hash| name.contains(hash)) {
                hashers.push(id);
            }
            *(if begun.is_some() { &mut function } else { &mut called }) = id;
        } else if let Some(calls) = line.strip_prefix("calls=") {
            if allocators.contains(&called) {
                allocations += calls.split_whitespace().next()?.parse::<u64>().ok()?;
            }
            is_of_called = true;
        } else if let Some(sum) = line.strip_prefix("summary:").or_else(|| line.strip_prefix("totals:")) {
            instructions = instructions.or_else(|| sum.trim().parse::<u64>().ok());
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first))
            && !std::mem::take(&mut is_of_called)
            && hashers.contains(&function)
        {
            hashing += line.split_whitespace().nth(1)?.parse::<u64>().ok()?;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "no run counts 2^52 of anything")]
    Some(Total {
        instructions: instructions?.saturating_sub(hashing) as f64,
        hashing: hashing as f64,
        allocations: allocations as f64,
    })
}

/// The parts of names by which functions that compute SHA-256 are known.
const HASHES: [&str; 2] = ["sha2::", "sha256"];

/// The functions by which the system's allocator and mimalloc are asked for memory.
const ALLOCATORS: [&str; 8] = [
    "malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "mi_malloc_aligned",
    "mi_zalloc_aligned", "mi_realloc_aligned",
];

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

    #[test]
    fn the_profile_of_a_whole_run_is_understood() {
        let profile = "fn=(1) main\n16 5\ncfn=(2) malloc\ncalls=3 0\n16 90\ncfn=(3) free\ncalls=9 0\n16 9\n\
            fn=(4) more\ncfn=(2)\ncalls=4 0\n1 2\nsummary: 1000\ntotals: 1000\n";
        assert_eq!(total(profile), Some(Total { instructions: 1000.0, hashing: 0.0, allocations: 7.0 }));
        assert_eq!(total("fn=(1) main\n"), None);
    }

    #[test]
    fn the_instructions_of_hashes_are_counted_apart() {
        let profile = "fn=(1) main\n16 5\ncfn=(2) sha2::sha256::compress\ncalls=3 0\n16 90\n\n\
            fn=(2)\n16 80\n+3 10\ncfn=(3) memcpy\ncalls=1 0\n* 7\n\nfn=(3)\n9 7\nsummary: 102\n";
        assert_eq!(total(profile), Some(Total { instructions: 12.0, hashing: 90.0, allocations: 0.0 }));
    }
}
