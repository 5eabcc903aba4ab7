//! What a look at specification documents finds, and the verdicts on the items of the checklist that follow from it.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::config::Severity;

/// The result of a look at specification documents.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct LintReport {
    /// The tools of all documents, each with a verdict on every item of the checklist.
    pub tools: Vec<ToolVerdicts>,
    /// The findings, in the order of the documents and their lines.
    pub findings: Vec<SpecFinding>,
}

/// The verdicts on the documentation of a tool: one on each item of the checklist for the implementation of tools. Its text
/// has a line for each.
#[derive(Debug, Clone, Serialize)]
pub struct ToolVerdicts {
    tool: String,
    file: PathBuf,
    /// The names of the items with their verdicts.
    #[serde(serialize_with = "as_object")]
    pub(super) checklist: Vec<(&'static str, ChecklistVerdict)>,
}

/// Returns the items of the checklist for the implementation of a tool, in its order: the name and the words of each.
fn checklist() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("checklist.txt").lines().filter_map(|line| line.split_once(": "))
}

/// The items that concern code, which a document does not show.
const OF_CODE: [&str; 2] = ["function", "wrapper"];

/// The verdict on an item of the checklist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChecklistVerdict {
    /// No error was found.
    Passed,
    /// An error was found.
    Failed,
    /// The item concerns code.
    NotChecked,
}

/// An error or a warning about a specification document. The output looks like that of compilers:
///
/// ```text
/// error[input-table]: the table lacks the parameter `days`
///   --> MCP_TOOL_SPECIFICATION.md:14 (weather.get_forecast, /properties/days)
///    = help: say the same in the table and in the schema
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpecFinding {
    /// The weight of the finding: an error fails the document, a warning does not.
    pub severity: Severity,
    /// The rule that the document does not follow.
    pub(super) rule: SpecRule,
    /// The document.
    pub(super) file: PathBuf,
    /// The line, from 1.
    pub(super) line: usize,
    /// The tool, unless the finding concerns the whole document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    /// The JSON pointer into the JSON that begins behind the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pointer: Option<String>,
    /// The description of the finding.
    pub(super) what: String,
    /// The way to mend the document.
    pub(super) help: &'static str,
}

/// A rule for specification documents. Each has a line in `rules.txt`, in this order: its name, the item of the checklist
/// that fails with it, and the way to follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SpecRule {
    Declaration,
    Sections,
    Purpose,
    InvocationName,
    Definition,
    InputTable,
    InputSchema,
    OutputTable,
    OutputSchema,
    ErrorTypes,
    Idempotency,
    Security,
    Examples,
    Version,
    VersionBump,
    Migration,
}

impl SpecRule {
    /// Returns the name of the rule, the item of the checklist that fails with it, and the way to follow it.
    pub(super) fn facts(self) -> [&'static str; 3] {
        let mut facts =
            include_str!("rules.txt").lines().nth(self as usize).unwrap_or_default().splitn(3, ": ");
        [(); 3].map(|()| facts.next().unwrap_or_default())
    }
}

impl ChecklistVerdict {
    /// Returns the verdict in words.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "failed",
            Self::NotChecked => "not checked",
        }
    }
}

impl LintReport {
    /// Returns the number of errors.
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error).count()
    }
}

impl ToolVerdicts {
    /// Returns the verdicts that follow from the findings about a tool.
    pub(super) fn of(tool: &str, file: &Path, findings: &[SpecFinding]) -> Self {
        let verdict = |item: &'static str| {
            let fails = |finding: &SpecFinding| {
                finding.severity == Severity::Error && finding.rule.facts()[1] == item
            };
            if OF_CODE.contains(&item) {
                ChecklistVerdict::NotChecked
            } else if findings.iter().any(fails) {
                ChecklistVerdict::Failed
            } else {
                ChecklistVerdict::Passed
            }
        };
        let checklist = checklist().map(|(item, _)| (item, verdict(item)));
        Self { tool: tool.to_owned(), file: file.to_owned(), checklist: checklist.collect() }
    }
}

impl fmt::Display for ToolVerdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  ({})", self.tool, self.file.display())?;
        let mut rows = self.checklist.iter().zip(checklist());
        rows.try_for_each(|((_, verdict), (_, words))| write!(f, "\n  {:<11}  {words}", verdict.as_str()))
    }
}

/// Writes the checklist as an object, with the items as names.
fn as_object<S: Serializer>(
    checklist: &[(&'static str, ChecklistVerdict)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(checklist.iter().copied())
}

impl SpecFinding {
    /// Creates an error about a document as a whole.
    pub(super) fn error(file: &Path, rule: SpecRule, line: usize, what: impl Into<String>) -> Self {
        let (file, what, help) = (file.to_owned(), what.into(), rule.facts()[2]);
        Self { severity: Severity::Error, rule, file, line, tool: None, pointer: None, what, help }
    }
}

impl fmt::Display for SpecFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity.as_str(), self.rule.facts()[0], self.what)?;
        write!(f, "\n  --> {}:{}", self.file.display(), self.line)?;
        match (&self.tool, &self.pointer) {
            (Some(tool), Some(pointer)) if !pointer.is_empty() => write!(f, " ({tool}, {pointer})")?,
            (Some(tool), _) => write!(f, " ({tool})")?,
            (None, _) => {}
        }
        write!(f, "\n   = help: {}", self.help)
    }
}
