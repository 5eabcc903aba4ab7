//! `cargo xtask conformance`: the official MCP conformance suite against our examples, and against one behind the kernel.
//!
//! The suite knows a set of requirements for each revision, frozen at its release. A set has scored scenarios, and
//! others that run beside them; we ask for both.

mod kernel;
mod results;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    node::Node,
    process::{self, Background},
    table::Table,
    workspace::Workspace,
};
use results::{Scenario, Verdict};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only our server
    #[arg(long, conflicts_with = "client")]
    server: bool,
    /// Only our client
    #[arg(long)]
    client: bool,
    /// Our server behind `mgp serve`, in place of the examples themselves
    #[arg(long, conflicts_with_all = ["client", "url", "command"])]
    kernel: bool,
    /// Only the requirements of this revision: 2025-11-25 or 2026-07-28
    #[arg(long, value_name = "REVISION")]
    requirements: Option<String>,
    /// Only this scenario, on the wire of the revision asked for
    #[arg(long)]
    scenario: Option<String>,
    /// A server that already runs, instead of our example
    #[arg(long)]
    url: Option<String>,
    /// A client, instead of our example
    #[arg(long)]
    command: Option<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<()> {
    let suite = Suite::install(&workspace.target.join("conformance"))?;
    let revisions: Vec<&str> = match &args.requirements {
        Some(revision) => vec![revision],
        None => REVISIONS.to_vec(),
    };
    let mut failed = 0;
    if !args.client {
        let side = if args.kernel { Side::Kernel } else { Side::Server };
        for revision in &revisions {
            let (url, _running) = match &args.url {
                Some(url) => (url.clone(), None),
                None if args.kernel => kernel::start(workspace, &suite.folder, revision)?,
                None => start_server(workspace, &suite)?,
            };
            failed += suite.judge(side, revision, args.scenario.as_deref(), &["--url", &url])?;
        }
    }
    if !args.server && !args.kernel {
        let command = match &args.command {
            Some(command) => command.clone(),
            None => workspace.example_or(None, "mgp-client-sdk", "conformance")?.display().to_string(),
        };
        for revision in &revisions {
            failed +=
                suite.judge(Side::Client, revision, args.scenario.as_deref(), &["--command", &command])?;
        }
        // No set of requirements has the authorization of the first revision that had any.
        if args.requirements.is_none() && args.scenario.is_none() {
            for scenario in FIRST_AUTHORIZATION {
                failed +=
                    suite.judge(Side::Client, "2025-03-26", Some(scenario), &["--command", &command])?;
            }
        }
    }
    ensure!(failed == 0, "{failed} scenarios failed");
    Ok(())
}

fn start_server(workspace: &Workspace, suite: &Suite) -> Result<(String, Option<Background>)> {
    let everything = workspace.example_or(None, "mgp-server-sdk", "everything")?;
    let port = process::free_port()?;
    let mut command = Command::new(everything);
    command.args(["http", &port.to_string()]);
    let server = Background::start(&mut command, port, &suite.folder.join("server.log"))?;
    Ok((format!("http://127.0.0.1:{port}/mcp"), Some(server)))
}

/// Which one is under test.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Server,
    /// Our server, seen through `mgp serve`.
    Kernel,
    Client,
}

impl Side {
    /// The suite's word for it.
    fn word(self) -> &'static str {
        match self {
            Self::Server | Self::Kernel => "server",
            Self::Client => "client",
        }
    }
}

struct Suite {
    node: Node,
    folder: PathBuf,
}

impl Suite {
    fn install(folder: &Path) -> Result<Self> {
        let node = Node::install(folder, &[&format!("{PACKAGE}@{VERSION}")])?;
        Ok(Self { node, folder: folder.to_owned() })
    }

    fn command(&self) -> Command {
        self.node.script(&self.node.module(PACKAGE).join("dist/index.js"))
    }

    /// Runs one set and prints what came out; returns how many scenarios failed.
    fn judge(&self, side: Side, revision: &str, scenario: Option<&str>, target: &[&str]) -> Result<usize> {
        let out = self.folder.join(format!("out-{}-{revision}", side.word()));
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        fs::create_dir_all(&out)?;
        let mut command = self.command();
        command.arg(side.word()).args(target).arg("-o").arg(&out);
        let expected = if let Some(scenario) = scenario {
            command.args(["--scenario", scenario, "--spec-version", revision]);
            vec![(scenario.to_owned(), true)]
        } else {
            command.args(["--requirements", revision]);
            let list = process::output(self.command().args(["list", "--requirements", revision]))?;
            results::expected(&list, side)
        };
        ensure!(!expected.is_empty(), "the suite lists no {} scenarios for {revision}", side.word());

        println!("\n{} {revision}: {}", side.word(), process::line(&command));
        // Its exit code says less than its files do: it knows nothing of the scenarios that we excuse.
        let log = fs::File::create(out.join("suite.log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.status().context("cannot start the suite")?;
        let scenarios = results::read(&out, &expected, side)?;
        if scenarios.iter().all(|s| !s.ran) {
            bail!("the suite wrote no results; see {}", out.join("suite.log").display());
        }
        Ok(report(&scenarios))
    }
}

fn report(scenarios: &[Scenario]) -> usize {
    let mut table = Table::new(["scenario", "scored", "passed", "failed", "warnings", "skipped", "verdict"]);
    for s in scenarios {
        let scored = if s.scored { "yes" } else { "no" };
        let counts = [s.passed, s.failed, s.warnings, s.skipped].map(|n| n.to_string());
        let [passed, failed, warnings, skipped] = counts;
        table.row([
            s.name.clone(),
            scored.into(),
            passed,
            failed,
            warnings,
            skipped,
            s.verdict().to_string(),
        ]);
    }
    print!("{table}");
    for s in scenarios.iter().filter(|s| s.verdict() == Verdict::Failed) {
        for fault in &s.faults {
            println!("{}: {fault}", s.name);
        }
    }
    let count =
        |verdict, scored| scenarios.iter().filter(|s| s.verdict() == verdict && s.scored == scored).count();
    let of = |scored| scenarios.iter().filter(|s| s.scored == scored).count();
    println!(
        "scored {} of {} passed, unscored {} of {}; checks: {} passed, {} failed, {} warnings",
        count(Verdict::Passed, true),
        of(true),
        count(Verdict::Passed, false),
        of(false),
        scenarios.iter().map(|s| s.passed).sum::<usize>(),
        scenarios.iter().map(|s| s.failed).sum::<usize>(),
        scenarios.iter().map(|s| s.warnings).sum::<usize>(),
    );
    let named = |verdict| -> Vec<&str> {
        scenarios.iter().filter(|s| s.verdict() == verdict).map(|s| s.name.as_str()).collect()
    };
    for (what, names) in
        [("skipped by the suite", named(Verdict::Skipped)), ("excused", named(Verdict::Excused))]
    {
        if !names.is_empty() {
            println!("{what}: {}", names.join(", "));
        }
    }
    named(Verdict::Failed).len()
}

const PACKAGE: &str = "@modelcontextprotocol/conformance";
const VERSION: &str = "0.2.0-alpha.12";
const FIRST_AUTHORIZATION: [&str; 2] =
    ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"];
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
