//! `mgp spec`: checks, writes and compares specification documents of tools, and prints the schemas of envelopes.

mod lint;
mod source;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use mgp_discovery::tool_spec::{self, ToolDiff, ToolVersion};
use mgp_types::RawJson;
use mgp_types::ext::{ERROR_DETAIL_SCHEMA, TOOL_CALL_SCHEMA, TOOL_RESULT_SCHEMA};

use self::source::tools_of;
use super::context::CommandContext;
use super::output::Output;
use crate::admin::pins::write_interface_change;
use crate::terminal::{Exit, Failure, printable};

#[derive(Debug, Subcommand)]
pub(super) enum SpecCommand {
    /// Check specification documents
    Lint(LintArgs),
    /// Write the specification document of tools
    Generate(GenerateArgs),
    /// Show what changed in tools, and the version that announces it
    Diff(DiffArgs),
    /// Print the JSON Schema of a form of envelopes, for validators and generators of code
    Schema(SchemaArgs),
}

#[derive(Debug, Args)]
pub(super) struct LintArgs {
    /// Specification documents, and folders in which to find MCP_TOOL_SPECIFICATION.md
    #[arg(value_name = "FILE|DIR", required = true)]
    paths: Vec<PathBuf>,
    /// Check that the versions announce what changed since this document, or these definitions
    #[arg(long, value_name = "OLD")]
    since: Option<String>,
    /// Check that the documents agree with these definitions: a JSON file, SERVER or SERVER.TOOL
    #[arg(long, value_name = "SOURCE")]
    against: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct GenerateArgs {
    /// The tools: a JSON file with a definition or a result of tools/list, - for standard input, SERVER or SERVER.TOOL
    #[arg(value_name = "SOURCE")]
    source: String,
    /// The module in front of the names of tools [default: what stands before the dot in them]
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// The version of tools that declare none
    #[arg(long, value_name = "VERSION", default_value_t = ToolVersion::FIRST)]
    tool_version: ToolVersion,
}

#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// The tools before: a specification document, a JSON file with definitions, SERVER or SERVER.TOOL
    #[arg(value_name = "OLD")]
    old: String,
    /// The tools after, likewise
    #[arg(value_name = "NEW")]
    new: String,
}

#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// What the schema describes
    #[arg(value_name = "FORM")]
    form: EnvelopeForm,
}

/// A form whose schema is printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum EnvelopeForm {
    ToolCall,
    ToolResult,
    ErrorDetail,
}

impl EnvelopeForm {
    const fn schema(self) -> &'static str {
        match self {
            Self::ToolCall => TOOL_CALL_SCHEMA,
            Self::ToolResult => TOOL_RESULT_SCHEMA,
            Self::ErrorDetail => ERROR_DETAIL_SCHEMA,
        }
    }
}

pub(super) async fn run(cx: &CommandContext, command: SpecCommand) -> Result<Exit, Failure> {
    match command {
        SpecCommand::Lint(args) => lint::run(cx, &args).await,
        SpecCommand::Generate(args) => generate(cx, args).await,
        SpecCommand::Diff(args) => diff(cx, &args).await,
        SpecCommand::Schema(args) => schema(&cx.output, args.form),
    }
}

/// Prints a schema as it is kept, so that its members stay in the order in which people read them.
fn schema(output: &Output, form: EnvelopeForm) -> Result<Exit, Failure> {
    let schema = RawJson::parse(form.schema()).map_err(|error| Failure::usage(error.to_string()))?;
    output.show(&schema, |_, out| write!(out, "{}", form.schema()))?;
    Ok(Exit::Done)
}

async fn generate(cx: &CommandContext, args: GenerateArgs) -> Result<Exit, Failure> {
    let tools = tools_of(cx, &args.source).await?;
    let spec = tool_spec::generate(&tools, args.module.as_deref(), args.tool_version)
        .map_err(|error| Failure::usage(error.to_string()).hint("`--module NAME` sets the module"))?;
    // Output to a file gets the texts of servers as they are.
    let is_raw = !io::stdout().is_terminal();
    cx.output.show(&spec, |spec, out| {
        let text = if is_raw { spec.document.clone() } else { printable(&spec.document) };
        write!(out, "{text}")
    })?;
    for gap in &spec.gaps {
        cx.output.note(&printable(gap));
    }
    Ok(Exit::Done)
}

async fn diff(cx: &CommandContext, args: &DiffArgs) -> Result<Exit, Failure> {
    let (old, new) = (tools_of(cx, &args.old).await?, tools_of(cx, &args.new).await?);
    let diffs = ToolDiff::between(&old, &new);
    cx.output.show(&diffs, |diffs, out| diffs.iter().try_for_each(|diff| write_diff(out, diff)))?;
    let is_announced = diffs.iter().all(|diff| diff.is_announced);
    Ok(if is_announced { Exit::Done } else { Exit::Tool })
}

fn write_diff(out: &mut impl io::Write, diff: &ToolDiff) -> io::Result<()> {
    let version = |version: Option<ToolVersion>| version.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let (old, new) = (version(diff.old_version), version(diff.new_version));
    writeln!(out, "{}  {old} -> {new}", printable(&diff.tool))?;
    if diff.changes.is_empty() {
        writeln!(out, "  nothing changed")?;
    }
    for change in &diff.changes {
        write!(out, "  ")?;
        write_interface_change(out, change)?;
    }
    match diff.least_version {
        Some(least) if !diff.is_announced => {
            writeln!(out, "  the version does not announce this: write at least {least}")
        }
        Some(least) if diff.new_version.is_none() => writeln!(out, "  the next version is at least {least}"),
        _ => Ok(()),
    }
}
