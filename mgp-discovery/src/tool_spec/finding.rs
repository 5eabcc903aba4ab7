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
    #[serde(serialize_with = "as_object")]
    pub(super) checklist: Vec<(ChecklistItem, ChecklistVerdict)>,
}

/// An item of the checklist for the implementation of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChecklistItem {
    /// The document exists and follows the template.
    Template,
    /// The parameters have a JSON Schema.
    InputSchema,
    /// The output has a JSON Schema.
    OutputSchema,
    /// The function of the tool handles errors.
    Function,
    /// The tool can be called with an envelope.
    Wrapper,
    /// Errors have specific types.
    ErrorTypes,
    /// The effect of repeated calls is documented.
    Idempotency,
    /// Security considerations are documented.
    Security,
    /// There are examples of use.
    Examples,
    /// The tool has a version that announces its changes.
    Version,
}

/// The verdict on an item of the checklist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChecklistVerdict {
    /// No error was found.
    Passed,
    /// An error was found.
    Failed,
    /// The item concerns code, which a document does not show.
    NotChecked,
}

/// An error or a warning about a specification document. The output looks like that of compilers:
///
/// ```text
/// error[input-table]: the table lacks the parameter `days`
///   --> MCP_TOOL_SPECIFICATION.md:14 (weather.get_forecast, /properties/days)
///    = help: add a row for it, or take it out of the schema
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
    pub(super) help: String,
}

/// Declares the rules with their names and the items of the checklist that they decide.
macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $name:literal => $item:ident,)*) => {
        /// A rule for specification documents.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub(super) enum SpecRule {
            $($(#[$doc])* #[serde(rename = $name)] $rule,)*
        }

        impl SpecRule {
            /// Returns the name of the rule.
            pub(super) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$rule => $name,)*
                }
            }

            /// Returns the item of the checklist that fails with the rule.
            pub(super) const fn item(self) -> ChecklistItem {
                match self {
                    $(Self::$rule => ChecklistItem::$item,)*
                }
            }
        }
    };
}

rules! {
    /// A document describes tools, and each begins with its declaration.
    Declaration = "declaration" => Template,
    /// The eight sections are there, in their order.
    Sections = "sections" => Template,
    /// The purpose of the tool is described.
    Purpose = "purpose" => Template,
    /// The invocation name has the right form and is unique.
    InvocationName = "invocation-name" => Template,
    /// The document agrees with the definition of the tool.
    Definition = "definition" => Template,
    /// The table of parameters says what the schema says.
    InputTable = "input-table" => InputSchema,
    /// The schema of the parameters has the elements that schemas need.
    InputSchema = "input-schema" => InputSchema,
    /// The table of output fields says what the schema says.
    OutputTable = "output-table" => OutputSchema,
    /// The schema of the output has the elements that schemas need, and the example outputs fit it.
    OutputSchema = "output-schema" => OutputSchema,
    /// Errors have types that are known or declared.
    ErrorTypes = "error-types" => ErrorTypes,
    /// The effect of a repeated call is stated.
    Idempotency = "idempotency" => Idempotency,
    /// The security considerations are written, and name the permissions of the tool.
    Security = "security" => Security,
    /// The examples are complete, and fit the envelopes and the schemas.
    Examples = "examples" => Examples,
    /// The tool has a version of three numbers.
    Version = "version" => Version,
    /// The version announces what changed since the older document.
    VersionBump = "version-bump" => Version,
    /// A breaking change has a migration guide.
    Migration = "migration" => Version,
}

impl ChecklistItem {
    /// All items, in the order of the checklist.
    const ALL: [Self; 10] = [
        Self::Template,
        Self::InputSchema,
        Self::OutputSchema,
        Self::Function,
        Self::Wrapper,
        Self::ErrorTypes,
        Self::Idempotency,
        Self::Security,
        Self::Examples,
        Self::Version,
    ];

    /// Returns the item in words.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Template => "specification follows the template",
            Self::InputSchema => "JSON Schema of the parameters",
            Self::OutputSchema => "JSON Schema of the output",
            Self::Function => "function with error handling",
            Self::Wrapper => "wrapper from ToolCall to ToolResult",
            Self::ErrorTypes => "specific error types",
            Self::Idempotency => "idempotency",
            Self::Security => "security considerations",
            Self::Examples => "usage examples",
            Self::Version => "version",
        }
    }

    const fn is_code(self) -> bool {
        matches!(self, Self::Function | Self::Wrapper)
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
        let verdict = |item: ChecklistItem| {
            let fails =
                |finding: &SpecFinding| finding.severity == Severity::Error && finding.rule.item() == item;
            if item.is_code() {
                ChecklistVerdict::NotChecked
            } else if findings.iter().any(fails) {
                ChecklistVerdict::Failed
            } else {
                ChecklistVerdict::Passed
            }
        };
        let checklist = ChecklistItem::ALL.into_iter().map(|item| (item, verdict(item)));
        Self { tool: tool.to_owned(), file: file.to_owned(), checklist: checklist.collect() }
    }
}

impl fmt::Display for ToolVerdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  ({})", self.tool, self.file.display())?;
        self.checklist
            .iter()
            .try_for_each(|(item, verdict)| write!(f, "\n  {:<11}  {}", verdict.as_str(), item.as_str()))
    }
}

/// Writes the checklist as an object, with the items as names.
fn as_object<S: Serializer>(
    checklist: &[(ChecklistItem, ChecklistVerdict)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(checklist.iter().map(|(item, verdict)| (item, verdict)))
}

impl fmt::Display for SpecFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity.as_str(), self.rule.as_str(), self.what)?;
        write!(f, "\n  --> {}:{}", self.file.display(), self.line)?;
        match (&self.tool, &self.pointer) {
            (Some(tool), Some(pointer)) if !pointer.is_empty() => write!(f, " ({tool}, {pointer})")?,
            (Some(tool), _) => write!(f, " ({tool})")?,
            (None, _) => {}
        }
        write!(f, "\n   = help: {}", self.help)
    }
}
