//! `mgp spec lint`: checks specification documents.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use mgp_discovery::config::Severity;
use mgp_discovery::tool_spec::{LintReport, SchemaCheck, SpecDocument, ToolInterface, lint};
use mgp_security::Schema;
use mgp_types::RawJson;

use super::LintArgs;
use super::source::tools_of;
use crate::cli::context::CommandContext;
use crate::cli::input::read_text;
use crate::terminal::{Exit, Failure, printable};

pub(super) async fn run(cx: &CommandContext, args: &LintArgs) -> Result<Exit, Failure> {
    let documents = documents(&args.paths)?;
    let since = tools(cx, args.since.as_deref()).await?;
    let definitions = tools(cx, args.against.as_deref()).await?;
    let report = lint(&documents, &since, &definitions, &compile);
    cx.output.show(&report, |report, out| {
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

async fn tools(cx: &CommandContext, source: Option<&str>) -> Result<Vec<ToolInterface>, Failure> {
    match source {
        Some(source) => tools_of(cx, source).await,
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

/// Returns the specification documents that the paths name, and those in the folders among them.
pub(super) fn documents(paths: &[PathBuf]) -> Result<Vec<SpecDocument>, Failure> {
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
fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unread = |error: io::Error| Failure::usage(format!("{} cannot be read: {error}", folder.display()));
    let mut entries = fs::read_dir(folder).map_err(unread)?.collect::<Result<Vec<_>, _>>().map_err(unread)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (kind, name) = (entry.file_type().map_err(unread)?, entry.file_name());
        let name = name.to_string_lossy();
        if kind.is_file() && name == SpecDocument::FILE_NAME {
            files.push(entry.path());
            if files.len() > MAX_FILES {
                return Err(Failure::usage(format!(
                    "there are more than {MAX_FILES} specification documents"
                )));
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
