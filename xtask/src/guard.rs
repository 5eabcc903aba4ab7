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
}

/// The smallest share that has to be blocked, and the largest that may be blocked wrongly, in per cent.
struct Gate {
    kind: &'static str,
    blocked: f64,
    wrongly: f64,
    /// A part of the harmless rows that is counted apart, and how much of it may be blocked.
    apart: Option<(&'static str, f64)>,
}

#[derive(Deserialize)]
struct Count {
    denied: u32,
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
    // The scorer knows two verdicts, and what is flagged is caught.
    let flags_count = r#"s/\"verdict\":\"flag\"/\"verdict\":\"deny\"/"#;
    let command = format!("sh -c \"'{}' --kind {{kind}} | sed '{flags_count}'\"", check.display());
    let mut python = Command::new("python3");
    let scores: Scores = serde_json::from_str(&process::output(
        python.arg(folder.join("score.py")).args(["--json", "--cmd", &command]),
    )?)
    .context("the scorer printed no scores")?;
    let mut table =
        Table::new(["inputs", "blocked", "target", "wrongly blocked", "target", "counted apart", "verdict"]);
    let mut short = 0;
    for gate in &GATES {
        let (row, met) = gate.row(&scores)?;
        short += u32::from(!met);
        table.row(row);
    }
    print!("\nMade by `cargo xtask guard`.\n\n{table}");
    let wrong = wrong_schemas(&check, &folder)?;
    println!("\njson_schema: {wrong} groups with a wrong verdict");
    if short > 0 || wrong > 0 {
        bail!("{short} gates are not met, {wrong} groups of schemas are judged wrongly");
    }
    Ok(())
}

impl Gate {
    const fn new(kind: &'static str, blocked: f64, wrongly: f64) -> Self {
        Self { kind, blocked, wrongly, apart: None }
    }

    const fn apart(self, name: &'static str, at_most: f64) -> Self {
        Self { apart: Some((name, at_most)), ..self }
    }

    fn row(&self, scores: &Scores) -> Result<([String; 7], bool)> {
        let counts = scores.get(self.kind).with_context(|| format!("the scorer knows no {}", self.kind))?;
        let share =
            |name: &str| counts.get(name).map(|count| 100.0 * f64::from(count.denied) / f64::from(count.of));
        let blocked = share("malicious").unwrap_or(0.0);
        let wrongly = share("benign").unwrap_or(0.0);
        let mut met = blocked >= self.blocked && wrongly <= self.wrongly;
        let apart = match self.apart {
            None => String::new(),
            Some((name, at_most)) => {
                let share = share(&format!("benign {name}")).unwrap_or(0.0);
                met &= share <= at_most;
                format!("{name} {share:.1} % (≤ {at_most} %)")
            }
        };
        let cells = [
            self.kind.to_owned(),
            format!("{blocked:.1} %"),
            format!("≥ {} %", self.blocked),
            format!("{wrongly:.1} %"),
            format!("≤ {} %", self.wrongly),
            apart,
            if met { "ok" } else { "short" }.to_owned(),
        ];
        Ok((cells, met))
    }
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
    Gate::new("shell_arg", 99.0, 1.0),
    Gate::new("shell_command", 97.0, 2.0).apart("meta", 5.0),
    Gate::new("ssrf_url", 100.0, 0.2),
    Gate::new("path", 100.0, 0.2),
    Gate::new("python_code", 98.0, 3.0),
    Gate::new("js_code", 95.0, 3.0),
    Gate::new("tool_def", 95.0, 1.0).apart("hard", 5.0),
    Gate::new("rug_pull", 100.0, 0.0),
    Gate::new("prompt_injection", 70.0, 2.0),
];
