//! `mgp spec`: checks, writes and compares specification documents of tools, and prints the schemas of envelopes.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mgp_discovery::config::Severity;
use mgp_discovery::tool_spec::{self, SchemaCheck, SpecDocument, ToolDiff, ToolInterface, lint};
use mgp_kernel_core::admin::operation::{KernelNeed, ServersToBegin};
use mgp_kernel_core::admin::pins::write_interface_change;
use mgp_kernel_core::admin::tools::{ListTools, ToolRow};
use mgp_kernel_core::terminal::{Exit, Failure, Result, or_dash, printable};
use mgp_security::Schema;
use mgp_types::RawJson;
use mgp_types::ext::{ERROR_DETAIL_SCHEMA, TOOL_CALL_SCHEMA, TOOL_RESULT_SCHEMA};
use mgp_types::mgp::Version;

use super::context::CommandContext;
use super::input::read_text;
use super::link::KernelLink;
use super::output::Output;
use super::tools;

#[derive(Debug, Subcommand)]
pub(super) enum SpecCommand {
    /// Check specification documents
    Lint(LintArgs),
    /// Write the specification document of tools
    Generate(GenerateArgs),
    /// Show what changed in tools, and the version that announces it
    Diff {
        /// The tools before: a specification document, a JSON file with definitions, SERVER or SERVER.TOOL
        #[arg(value_name = "OLD")]
        old: String,
        /// The tools after, likewise
        #[arg(value_name = "NEW")]
        new: String,
    },
    /// Print the JSON Schema of a form of envelopes, for validators and generators of code
    Schema {
        /// The form that the schema describes
        #[arg(value_name = "FORM", value_parser = FORMS.map(|(form, _)| form))]
        form: String,
    },
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
    #[arg(long, value_name = "VERSION", default_value_t = Version::FIRST, value_parser = Version::strict)]
    tool_version: Version,
}

/// The forms of envelopes, each with its schema.
const FORMS: [(&str, &str); 3] = [
    ("tool-call", TOOL_CALL_SCHEMA),
    ("tool-result", TOOL_RESULT_SCHEMA),
    ("error-detail", ERROR_DETAIL_SCHEMA),
];

pub(super) async fn run(cx: &CommandContext, command: SpecCommand) -> Result {
    match command {
        SpecCommand::Lint(args) => check(cx, &args).await,
        SpecCommand::Generate(args) => generate(cx, args).await,
        SpecCommand::Diff { old, new } => diff(cx, &old, &new).await,
        SpecCommand::Schema { form } => schema(&cx.output, &form),
    }
}

/// Prints a schema as it is kept, so that its members stay in the order in which people read them.
fn schema(output: &Output, form: &str) -> Result {
    let text = FORMS.iter().find(|(known, _)| *known == form).map_or("", |(_, text)| text);
    let schema = RawJson::parse(text).map_err(|error| Failure::usage(error.to_string()))?;
    output.show(&schema, |_, out| write!(out, "{text}"))
}

async fn generate(cx: &CommandContext, args: GenerateArgs) -> Result {
    let tools = tools_of(cx, Some(&args.source)).await?;
    let spec = tool_spec::generate(&tools, args.module.as_deref(), args.tool_version)
        .map_err(|error| Failure::usage(error.to_string()).hint("`--module NAME` sets the module"))?;
    // Output to a file gets the texts of servers as they are.
    let is_raw = !io::stdout().is_terminal();
    cx.output.show(&spec, |spec, out| {
        let text = if is_raw { spec.document.clone() } else { printable(&spec.document) };
        write!(out, "{text}")
    })?;
    spec.gaps.iter().for_each(|gap| cx.output.note(&printable(gap)));
    Ok(Exit::Done)
}

async fn diff(cx: &CommandContext, old: &str, new: &str) -> Result {
    let (old, new) = (tools_of(cx, Some(old)).await?, tools_of(cx, Some(new)).await?);
    let diffs = ToolDiff::between(&old, &new);
    cx.output.show(&diffs, |diffs, out| diffs.iter().try_for_each(|diff| write_diff(out, diff)))?;
    Ok(if diffs.iter().all(|diff| diff.is_announced) { Exit::Done } else { Exit::Tool })
}

fn write_diff(out: &mut impl io::Write, diff: &ToolDiff) -> io::Result<()> {
    let (old, new) = (or_dash(diff.old_version), or_dash(diff.new_version));
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

async fn check(cx: &CommandContext, args: &LintArgs) -> Result {
    let documents = documents(&args.paths)?;
    let since = tools_of(cx, args.since.as_deref()).await?;
    let definitions = tools_of(cx, args.against.as_deref()).await?;
    let report = lint(&documents, &since, &definitions, &compile);
    cx.output.show(&report, |report, out| {
        for finding in &report.findings {
            writeln!(out, "{}\n", printable(&finding.to_string()))?;
        }
        report.tools.iter().try_for_each(|tool| writeln!(out, "{}", printable(&tool.to_string())))?;
        let warnings = report.findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
        let counts = [(report.tools.len(), "tool"), (report.errors(), "error"), (warnings, "warning")];
        let counts =
            counts.map(|(number, what)| format!("{number} {what}{}", if number == 1 { "" } else { "s" }));
        writeln!(out, "{}", counts.join(", "))
    })?;
    Ok(if report.errors() == 0 { Exit::Done } else { Exit::Tool })
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

/// Returns the specification documents that the paths name, and those in the folders among them.
fn documents(paths: &[PathBuf]) -> Result<Vec<SpecDocument>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        find(path, DEEPEST, &mut files)?;
        if files.len() == before {
            let what = format!("{} has no {}", path.display(), SpecDocument::FILE_NAME);
            return Err(Failure::new(Exit::Tool, what).hint("`mgp spec generate SERVER` writes one"));
        }
    }
    files.iter().map(|file| Ok(SpecDocument::read(file, &read_text(file)?))).collect()
}

/// Adds the specification documents in a folder, in the order of their paths. Links are not followed, and folders whose
/// content is made by programs are left out.
fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let unread = |error: io::Error| Failure::usage(format!("{} cannot be read: {error}", folder.display()));
    let mut entries = fs::read_dir(folder).map_err(unread)?.collect::<Result<Vec<_>, _>>().map_err(unread)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (kind, name) = (entry.file_type().map_err(unread)?, entry.file_name());
        let name = name.to_string_lossy();
        if kind.is_file() && name == SpecDocument::FILE_NAME {
            files.push(entry.path());
            if files.len() > MAX_FILES {
                let what = format!("there are more than {MAX_FILES} specification documents");
                return Err(Failure::usage(what));
            }
        } else if kind.is_dir() && depth > 0 && !name.starts_with('.') && !MADE.contains(&&*name) {
            find(&entry.path(), depth - 1, files)?;
        }
    }
    Ok(())
}

/// The largest number of documents of one command.
const MAX_FILES: usize = 10_000;

/// The largest number of folders within each other that are searched.
const DEEPEST: usize = 32;

/// The names of folders whose content is made by programs.
const MADE: [&str; 2] = ["node_modules", "target"];

/// Returns the tools of a file if there is one of this name, and asks the kernel otherwise; none without a name. The names of
/// a server's tools have the server in front.
async fn tools_of(cx: &CommandContext, source: Option<&str>) -> Result<Vec<ToolInterface>> {
    let Some(source) = source else { return Ok(Vec::new()) };
    let path = Path::new(source);
    let extension = path.extension().and_then(OsStr::to_str);
    let is_path = source.contains(['/', '\\']) || matches!(extension, Some("md" | "json"));
    if source == "-" || path.is_file() || is_path {
        return of_text(path, &read_text(path)?);
    }
    cx.tell_untrusted();
    let find = async |link: &KernelLink| of_kernel(link, source).await;
    KernelLink::with(cx, KernelNeed::ANY_SERVERS, find).await
}

/// Returns the tools of JSON or of a specification document.
fn of_text(path: &Path, text: &str) -> Result<Vec<ToolInterface>> {
    if text.trim_start().starts_with(['{', '[']) {
        return ToolInterface::of_definitions(text).map_err(|error| {
            Failure::usage(format!("{}: {error}", path.display()))
                .hint("the file has the definition of a tool, or a result of tools/list")
        });
    }
    let tools = ToolInterface::of_document(&SpecDocument::read(path, text));
    if tools.is_empty() {
        let hint = "`mgp spec lint` says what a specification document needs";
        return Err(Failure::usage(format!("{} specifies no tool", path.display())).hint(hint));
    }
    Ok(tools)
}

async fn of_kernel(link: &KernelLink, name: &str) -> Result<Vec<ToolInterface>> {
    let server = ServersToBegin::Only(vec![name.into()]);
    let servers = link.settled(&server).await?;
    let rows = if servers.iter().any(|server| server.id.as_str() == name) {
        let list = |page| ListTools { server_id: Some(name.into()), page, ..ListTools::default() };
        link.all(list, |list| (list.tools, list.next_offset)).await?
    } else {
        vec![tools::one(link, name).await?]
    };
    if rows.is_empty() {
        return Err(Failure::unreachable(format!("the server `{name}` has no tools that may be used"))
            .hint("`mgp servers` shows its state, `mgp pin list --waiting` what is held"));
    }
    let interface = |row: &ToolRow| {
        ToolInterface::of_definition(&row.definition).ok_or_else(|| {
            let message = format!("the definition of {} has no schema of its parameters", row.name);
            Failure::new(Exit::Tool, message).hint("only its server can mend it")
        })
    };
    rows.iter().map(interface).collect()
}
