//! `mgp spec lint`: checks specification documents.

use std::io::Write as _;

use mgp_discovery::config::Severity;
use mgp_discovery::tool_spec::{LintReport, SchemaCheck, ToolInterface, lint};
use mgp_security::Schema;
use mgp_types::RawJson;

use super::source::tools_of;
use super::{LintArgs, files};
use crate::cli::kernel_location::KernelLocation;
use crate::cli::output::Output;
use crate::terminal::{Exit, Failure, printable};

pub(super) async fn run(place: &KernelLocation, output: &Output, args: &LintArgs) -> Result<Exit, Failure> {
    let documents = files::documents(&args.paths)?;
    let since = tools(place, args.since.as_deref()).await?;
    let definitions = tools(place, args.against.as_deref()).await?;
    let report = lint(&documents, &since, &definitions, &compile);
    output.show(&report, |report, out| {
        for finding in &report.findings {
            writeln!(out, "{}\n", printable(&finding.to_string()))?;
        }
        for tool in &report.tools {
            writeln!(out, "{}", printable(&tool.to_string()))?;
        }
        let warnings = report.findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
        let counts = [(report.tools.len(), "tool"), (report.errors(), "error"), (warnings, "warning")];
        let counts =
            counts.map(|(number, what)| format!("{number} {what}{}", if number == 1 { "" } else { "s" }));
        writeln!(out, "{}", counts.join(", "))
    })?;
    Ok(verdict(&report))
}

fn verdict(report: &LintReport) -> Exit {
    if report.errors() == 0 { Exit::Done } else { Exit::Tool }
}

async fn tools(place: &KernelLocation, source: Option<&str>) -> Result<Vec<ToolInterface>, Failure> {
    match source {
        Some(source) => tools_of(place, source).await,
        None => Ok(Vec::new()),
    }
}

/// Compiles a schema as the kernel does for calls.
fn compile(schema: &RawJson) -> Result<SchemaCheck, String> {
    let schema = Schema::compile(schema).map_err(|error| error.to_string())?;
    Ok(Box::new(move |value| {
        schema.check(value.as_bytes()).map_err(|violation| {
            let why = violation.to_string();
            why.trim_start_matches("invalid arguments").trim_start_matches([' ', ':']).to_owned()
        })
    }))
}
