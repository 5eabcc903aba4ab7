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

/// The items of the checklist for the implementation of a tool, in its order: the name and the words of each.
const CHECKLIST: [(&str, &str); 10] = [
    ("template", "specification follows the template"),
    ("input_schema", "JSON Schema of the parameters"),
    ("output_schema", "JSON Schema of the output"),
    ("function", "function with error handling"),
    ("wrapper", "wrapper from ToolCall to ToolResult"),
    ("error_types", "specific error types"),
    ("idempotency", "idempotency"),
    ("security", "security considerations"),
    ("examples", "usage examples"),
    ("version", "version"),
];

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

/// Declares the rules with their names, the items of the checklist that they decide, and the way to follow them.
macro_rules! rules {
    ($($rule:ident = $name:literal => $item:literal, $help:literal;)*) => {
        /// A rule for specification documents.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub(super) enum SpecRule {
            $(#[doc = $help] #[serde(rename = $name)] $rule,)*
        }

        impl SpecRule {
            /// Returns the name of the rule, the item of the checklist that fails with it, and the way to follow it.
            pub(super) const fn facts(self) -> (&'static str, &'static str, &'static str) {
                match self {
                    $(Self::$rule => ($name, $item, $help),)*
                }
            }
        }
    };
}

rules! {
    Declaration = "declaration" => "template",
        "begin each tool with a heading of the second level: ## Tool: `module.tool`";
    Sections = "sections" => "template",
        "write the eight sections once each, in their order and with their numbers";
    Purpose = "purpose" => "template",
        "say what the tool does, what it is for, and what to know before a call";
    InvocationName = "invocation-name" => "template",
        "write module.tool in lower-case letters, digits and underscores, the same in heading and section, for one tool only";
    Definition = "definition" => "template",
        "write what the definition says, or change the tool";
    InputTable = "input-table" => "input_schema",
        "say the same in the table and in the schema";
    InputSchema = "input-schema" => "input_schema",
        "write JSON: `type` and `description` in each schema, `properties` and `required` of objects, `items` of arrays, `examples`";
    OutputTable = "output-table" => "output_schema",
        "say the same in the table and in the schema";
    OutputSchema = "output-schema" => "output_schema",
        "write a schema as for the parameters, and examples that fit it";
    ErrorTypes = "error-types" => "error_types",
        "list the types in a table with the column Error Type; declare your own: **Custom error types**: `NAME`";
    Idempotency = "idempotency" => "idempotency",
        "begin with **Idempotent**: Yes, or **Idempotent**: No, as the definition says; then what a repeated call does";
    Security = "security" => "security",
        "name the risks and what is done about them, how input is checked, who may call, and what each permission is for";
    Examples = "examples" => "examples",
        "write a call with `tool_name` and `arguments`, and results with `status` and `data` or `error`, that fit the schemas";
    Version = "version" => "version",
        "write **Version**: 1.0.0 below the heading of the tool";
    VersionBump = "version-bump" => "version",
        "raise the number of the version that announces the change";
    Migration = "migration" => "version",
        "add the section ### Migration Guide: what callers change, or where they read it";
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
            let fails =
                |finding: &SpecFinding| finding.severity == Severity::Error && finding.rule.facts().1 == item;
            if OF_CODE.contains(&item) {
                ChecklistVerdict::NotChecked
            } else if findings.iter().any(fails) {
                ChecklistVerdict::Failed
            } else {
                ChecklistVerdict::Passed
            }
        };
        let checklist = CHECKLIST.into_iter().map(|(item, _)| (item, verdict(item)));
        Self { tool: tool.to_owned(), file: file.to_owned(), checklist: checklist.collect() }
    }
}

impl fmt::Display for ToolVerdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  ({})", self.tool, self.file.display())?;
        self.checklist
            .iter()
            .zip(CHECKLIST)
            .try_for_each(|((_, verdict), (_, words))| write!(f, "\n  {:<11}  {words}", verdict.as_str()))
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
        Self {
            severity: Severity::Error,
            rule,
            file: file.to_owned(),
            line,
            tool: None,
            pointer: None,
            what: what.into(),
            help: rule.facts().2,
        }
    }
}

impl fmt::Display for SpecFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity.as_str(), self.rule.facts().0, self.what)?;
        write!(f, "\n  --> {}:{}", self.file.display(), self.line)?;
        match (&self.tool, &self.pointer) {
            (Some(tool), Some(pointer)) if !pointer.is_empty() => write!(f, " ({tool}, {pointer})")?,
            (Some(tool), _) => write!(f, " ({tool})")?,
            (None, _) => {}
        }
        write!(f, "\n   = help: {}", self.help)
    }
}
