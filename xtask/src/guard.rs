//! The share of inputs that the validators block, rightly and wrongly, on corpora of inputs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fmt::Write as _, fs, io::Write as _};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::process;
use crate::table::Table;
use crate::workspace::{Features, Profile, Workspace};

#[derive(Parser)]
pub(crate) struct Args {
    /// The folder of the scorer and its corpora, relative to the workspace
    #[arg(long, value_name = "FOLDER", default_value = "../shared/bench-guard")]
    guard_dir: PathBuf,
    /// A folder of further corpora, `KIND.jsonl`, whose rows have the same form
    #[arg(long, value_name = "FOLDER")]
    outside: Option<PathBuf>,
}

/// The largest shares in per cent of harmful inputs that pass in silence, and of harmless ones that are refused.
struct Gate {
    kind: &'static str,
    silent: f64,
    wrongly: f64,
}

#[derive(Deserialize)]
struct Count {
    denied: u32,
    #[serde(default)]
    asked: u32,
    of: u32,
}

type Scores = BTreeMap<String, BTreeMap<String, Count>>;

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let folder = workspace.root.join(&args.guard_dir);
    ensure!(folder.join("score.py").exists(), "there is no score.py in {}", folder.display());
    let check = workspace.build_example(
        "mgp-security",
        "check",
        Features::Only("validate,code-safety"),
        Profile::Dist,
    )?;
    let scores = |options: &[&str]| -> Result<Scores> {
        let command = format!("{} --kind {{kind}}", check.display());
        let mut python = Command::new("python3");
        python.arg(folder.join("score.py")).args(["--json", "--cmd", &command]).args(options);
        serde_json::from_str(&process::output(&mut python)?).context("the scorer printed no scores")
    };
    let (table, short) = table(&scores(&[])?);
    print!("\nMade by `cargo xtask guard`.\n\n{table}");
    if let Some(outside) = &args.outside {
        let is_there = |gate: &&Gate| outside.join(format!("{}.jsonl", gate.kind)).exists();
        let kinds = GATES.iter().filter(is_there).map(|gate| gate.kind).collect::<Vec<_>>().join(",");
        let root = outside.to_str().context("the folder has no plain name")?;
        ensure!(!kinds.is_empty(), "{root} has no corpus of a kind that is known");
        let (table, _) = self::table(&scores(&["--root", root, "--suffix", ".jsonl", "--kinds", &kinds])?);
        print!("\nOf {root}:\n\n{table}");
    }
    let wrong = wrong_schemas(&check, &folder)?;
    println!("\njson_schema: {wrong} groups with a wrong verdict");
    if short > 0 || wrong > 0 {
        bail!("{short} gates are not met, {wrong} groups of schemas are judged wrongly");
    }
    Ok(())
}

/// Returns the table of the kinds that have scores, and the number of gates that are not met.
fn table(scores: &Scores) -> (Table, u32) {
    let heads =
        ["inputs", "refused", "silent", "target", "refused wrongly", "target", "asked though harmless"];
    let (mut table, mut short) = (Table::new(heads), 0);
    for (gate, counts) in GATES.iter().filter_map(|gate| Some((gate, scores.get(gate.kind)?))) {
        let share = |name: &str, number: fn(&Count) -> u32| {
            let count = counts.get(name).filter(|count| count.of > 0);
            count.map_or(0.0, |count| 100.0 * f64::from(number(count)) / f64::from(count.of))
        };
        let silent = share("malicious", |count| count.of - count.denied - count.asked);
        let wrongly = share("benign", |count| count.denied);
        short += u32::from(silent > gate.silent || wrongly > gate.wrongly);
        table.row([
            gate.kind.to_owned(),
            format!("{:.1} %", share("malicious", |count| count.denied)),
            format!("{silent:.1} %"),
            format!("≤ {} %", gate.silent),
            format!("{wrongly:.1} %"),
            format!("≤ {} %", gate.wrongly),
            format!("{:.1} %", share("benign", |count| count.asked)),
        ]);
    }
    (table, short)
}

/// How many groups of schemas and values get a verdict that is not the one they name.
fn wrong_schemas(check: &Path, folder: &Path) -> Result<usize> {
    #[derive(Deserialize)]
    struct Row<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(borrow)]
        input: &'a RawValue,
    }
    let corpus = fs::read_to_string(folder.join("corpora/json_schema.dev.jsonl"))?;
    let mut input = String::new();
    for line in corpus.lines() {
        let row: Row<'_> = serde_json::from_str(line)?;
        writeln!(input, "{{\"id\":{},\"input\":{}}}", row.id, row.input)?;
    }
    let mut child = Command::new(check)
        .args(["--kind", "json_schema"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the example `check` cannot be started")?;
    let mut stdin = child.stdin.take().context("the example has no input")?;
    let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let out = child.wait_with_output()?;
    feeder.join().map_err(|_| anyhow::anyhow!("feeding the example failed"))??;
    let verdicts = String::from_utf8(out.stdout)?;
    ensure!(verdicts.lines().count() == corpus.lines().count(), "some groups got no verdict");
    Ok(verdicts.lines().filter(|line| !line.contains(r#""verdict":"allow""#)).count())
}

const GATES: [Gate; 9] = [
    Gate { kind: "shell_arg", silent: 0.5, wrongly: 0.5 },
    Gate { kind: "shell_command", silent: 0.5, wrongly: 0.5 },
    Gate { kind: "ssrf_url", silent: 0.0, wrongly: 0.2 },
    Gate { kind: "path", silent: 0.0, wrongly: 0.2 },
    Gate { kind: "python_code", silent: 0.0, wrongly: 0.5 },
    Gate { kind: "js_code", silent: 0.0, wrongly: 0.5 },
    Gate { kind: "tool_def", silent: 8.0, wrongly: 0.5 },
    Gate { kind: "rug_pull", silent: 0.0, wrongly: 0.0 },
    Gate { kind: "prompt_injection", silent: 8.0, wrongly: 2.0 },
];
