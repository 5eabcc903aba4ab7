//! `mgp conform`: runs the conformance kit against a server or a client. It needs no kernel.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use mgp_conform::{
    ClientSubject, Level, Report, Role, RunOptions, ServerSubject, Status, Suite, Transport, check_client,
    check_server,
};
use mgp_kernel_core::terminal::{Exit, Failure, Result, TextWriter, or_dash, with_causes};
use serde_json::{Map, Value};

use super::output::Output;

#[derive(Debug, Subcommand)]
pub(super) enum ConformCommand {
    /// Test a server: a command that speaks on its standard input and output, or a URL
    Server(ServerArgs),
    /// Test a client: a command, which gets the URL of the kit as its last argument
    Client(ClientArgs),
}

#[derive(Debug, Args)]
pub(super) struct ServerArgs {
    /// The URL of a server of Streamable HTTP
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// A header of each HTTP request, such as `authorization: Bearer TOKEN`
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,
    /// A tool that may be called; by default one that says it only reads, and needs no arguments
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The arguments for --tool
    #[arg(long, value_name = "JSON", value_parser = object, requires = "tool", default_value = "{}")]
    arguments: Value,
    #[command(flatten)]
    run: RunArgs,
    /// The command of the server
    #[arg(last = true, value_name = "CMD", conflicts_with = "url", required_unless_present_any = ["url", "list"])]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(super) struct ClientArgs {
    /// Speak on the standard input and output of the command
    #[arg(long)]
    stdio: bool,
    #[command(flatten)]
    run: RunArgs,
    /// The command of the client
    #[arg(last = true, value_name = "CMD", required_unless_present = "list")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
struct RunArgs {
    /// The highest level to test: core, extended or full
    #[arg(long, value_name = "LEVEL", value_parser = level, default_value = "full")]
    level: Level,
    /// A suite of more test cases; may be repeated
    #[arg(long, value_name = "FILE")]
    suite: Vec<PathBuf>,
    /// The seconds to wait for each answer
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    wait: u64,
    /// Write the report as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the badge, an SVG image, if no rule is broken
    #[arg(long, value_name = "FILE")]
    badge: Option<PathBuf>,
    /// List the test cases, and test nothing
    #[arg(long)]
    list: bool,
}

pub(super) async fn run(output: &Output, command: ConformCommand) -> Result {
    let (role, run) = match &command {
        ConformCommand::Server(args) => (Role::Server, &args.run),
        ConformCommand::Client(args) => (Role::Client, &args.run),
    };
    let suite = run.read_suites()?;
    if run.list {
        return list(output, &suite, role, run.level);
    }
    let mut options =
        RunOptions { level: run.level, patience: Duration::from_secs(run.wait), ..RunOptions::default() };
    let report = match &command {
        ConformCommand::Server(args) => {
            options.headers = args.header.iter().cloned().collect::<BTreeMap<_, _>>();
            options.tool = args.tool.clone().map(|tool| (tool, args.arguments.clone()));
            let subject = match &args.url {
                Some(url) => ServerSubject::Url(url.clone()),
                None => ServerSubject::Command(args.command.clone()),
            };
            check_server(&suite, &subject, &options).await
        }
        ConformCommand::Client(args) => {
            let transport = if args.stdio { Transport::Stdio } else { Transport::Http };
            let subject = ClientSubject { command: args.command.clone(), transport };
            check_client(&suite, &subject, &options).await
        }
    };
    if let Some(path) = &run.junit {
        write(path, &report.junit())?;
    }
    match (&run.badge, report.badge()) {
        (Some(path), Some(badge)) => write(path, &badge)?,
        (Some(_), None) => output.warning("no badge was written, because the subject does not pass"),
        (None, _) => {}
    }
    output.show(&report, write_report)?;
    if report.summary.passed == 0
        && report.summary.failed == 0
        && let Some(reason) = report.results.iter().find_map(|result| result.message.as_ref())
    {
        output.note(&format!("nothing was tested: {reason}"));
    }
    Ok(if report.is_passing() { Exit::Done } else { Exit::Tool })
}

impl RunArgs {
    fn read_suites(&self) -> Result<Suite> {
        self.suite.iter().try_fold(Suite::built_in(), |suite, path| {
            let text = fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
            let added = Suite::parse(&text).and_then(|added| suite.with(added));
            added.map_err(|error| Failure::file(path, with_causes(&error.to_string(), &error)))
        })
    }
}

fn list(output: &Output, suite: &Suite, role: Role, level: Level) -> Result {
    let is_meant = |input: &mgp_conform::Scenario| input.role == role && input.level <= level;
    let tests: Vec<_> = suite.tests.iter().filter(|test| is_meant(&test.input)).collect();
    output.show(&tests, |tests, out| {
        let rows = tests.iter().map(|test| {
            [&test.test_id, test.input.level.word(), &test.description, &test.proposal_ref]
                .map(ToOwned::to_owned)
        });
        out.table(&["TEST", "LEVEL", "RULE", "SPECIFICATION"], rows, "no test cases")
    })
}

/// Writes the rules that are broken, and how many there are.
fn write_report(report: &Report, out: &mut TextWriter) -> io::Result<()> {
    let is_broken = |status| matches!(status, Status::Failed | Status::Error);
    let broken = report.results.iter().filter(|result| is_broken(result.status));
    let rows = broken.map(|result| {
        let message = result.message.clone().unwrap_or_default();
        [result.status.word().to_owned(), result.test_id.clone(), message]
    });
    out.table(&[], rows, "no rule is broken")?;
    let subject =
        [report.server_name.as_str(), &report.server_version].map(mgp_kernel_core::terminal::printable);
    writeln!(
        out,
        "{} {}: {} passed, {} failed, {} skipped; level {}; suite {}",
        subject[0],
        subject[1],
        report.summary.passed,
        report.summary.failed,
        report.summary.skipped,
        or_dash(report.level.map(Level::word)),
        report.suite_version,
    )
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Failure::file(path, error))
}

fn level(word: &str) -> Result<Level, String> {
    let found = Level::ALL.into_iter().find(|level| level.word() == word);
    found.ok_or_else(|| "use core, extended or full".to_owned())
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("use NAME: VALUE")?;
    Ok((name.trim().to_lowercase(), value.trim().to_owned()))
}

fn object(text: &str) -> Result<Value, String> {
    serde_json::from_str::<Map<String, Value>>(text)
        .map(Value::Object)
        .map_err(|_| "use a JSON object".to_owned())
}
