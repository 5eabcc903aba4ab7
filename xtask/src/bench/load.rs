//! Time, memory and CPU under load, by `bench.py`: interleaved repetitions, the best of each figure.

use std::{collections::HashMap, fs, process::Command, process::Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Programs;
use crate::process;

/// A figure of one target.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// Milliseconds from the start to the first reply.
    Start,
    /// A figure of a scenario, by the names that the driver gives them.
    Of(&'static str, &'static str),
}

/// The results that `bench.py` writes to `bench.json`.
#[derive(Deserialize)]
pub(super) struct Results {
    targets: HashMap<String, Measured>,
}

#[derive(Deserialize)]
struct Measured {
    startup_ms: f64,
    #[serde(rename = "s")]
    scenarios: HashMap<String, HashMap<String, f64>>,
}

/// The cores on which the driver and the server run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cores {
    /// Wherever the system puts them.
    Any,
    /// Both on one core. One call at a time leaves the other idle anyway, and waking it costs several times what a
    /// call does, in some runs and not in others.
    One,
}

pub(super) fn run(programs: &Programs, quick: bool, cores: Cores) -> Result<Results> {
    let (out, mut python) = match cores {
        Cores::Any => (programs.folder.join("results"), Command::new("python3")),
        Cores::One => {
            let mut pinned = Command::new("taskset");
            pinned.args(["--cpu-list", "0", "python3"]);
            (programs.folder.join("results-one-core"), pinned)
        }
    };
    let scenarios = match cores {
        Cores::Any => "lat,c64",
        Cores::One => "lat",
    };
    python.arg(programs.scripts.join("bench.py")).arg("--bin").arg(&programs.peers).arg("--out").arg(&out);
    python.args(if quick { ["--reps", "1", "--secs", "0.3"] } else { ["--reps", "3", "--secs", "1"] });
    python.args(["--scenarios", scenarios, "--only", ONLY]);
    let server = programs.server.join(" ");
    python.args(["--add", &format!("ours stdio|stdio|2025|{server} stdio")]);
    for era in ["2025", "2026"] {
        // The script puts a port of its own into each word PORT.
        python.args(["--add", &format!("ours http|http|PORT|{era}|{server} http PORT")]);
    }
    process::run(python.stdout(Stdio::null()))?;
    let json = fs::read_to_string(out.join("bench.json"))?;
    serde_json::from_str(&json).context("bench.py wrote JSON of an unknown form")
}

/// Of all targets that the script knows, the fairest ones: one thread, and rmcp as fast as it can be set up.
const ONLY: &str = r"^(floor stdio \(tokio, 1 thread\) 2025|rmcp stdio_pipes\(\) 1 thread 2025|floor http \(hyper, 1 thread\) |rmcp http stateless json |ours )";

impl Results {
    /// Returns the same figure of the floor, of rmcp and of ours; a floor that lacks the era gives its older one.
    pub(super) fn three(&self, names: [&str; 3], era: &str, field: Field) -> Result<[f64; 3]> {
        let [floor, rmcp, ours] = names;
        let floor = self.one(floor, era, field).or_else(|_| self.one(floor, "2025", field))?;
        Ok([floor, self.one(rmcp, era, field)?, self.one(ours, era, field)?])
    }

    fn one(&self, name: &str, era: &str, field: Field) -> Result<f64> {
        let target = format!("{name} [{era}]");
        let measured = self
            .targets
            .get(&target)
            .with_context(|| format!("`{target}` was not measured; bench.py says why"))?;
        match field {
            Field::Start => Ok(measured.startup_ms),
            Field::Of(scenario, figure) => measured
                .scenarios
                .get(scenario)
                .and_then(|s| s.get(figure))
                .copied()
                .with_context(|| format!("`{target}` has no {figure} of `{scenario}`")),
        }
    }
}
