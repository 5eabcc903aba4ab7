//! The look at specification documents as a whole; [`super::tool_lint`] looks at one tool.

use std::collections::HashMap;

use mgp_types::RawJson;

use super::document::SpecDocument;
use super::finding::{LintReport, SpecFinding, SpecRule, ToolVerdicts};
use super::interface::ToolInterface;
use super::tool_lint::ToolLint;
use crate::config::Severity;

/// A compiled JSON Schema: checks a value, and fails with what is wrong with it.
pub type SchemaCheck = Box<dyn Fn(&RawJson) -> Result<(), String>>;

/// A look at specification documents.
///
/// ```
/// use mgp_discovery::tool_spec::{Lint, SpecDocument};
///
/// let document = SpecDocument::read("MCP_TOOL_SPECIFICATION.md".as_ref(), "## Tool: `text.count`\n");
/// let compile = |_: &_| -> Result<mgp_discovery::tool_spec::SchemaCheck, String> { Ok(Box::new(|_| Ok(()))) };
/// let report = Lint::new(&compile).run(&[document]);
/// assert!(report.findings.iter().any(|finding| finding.to_string().contains("Input Schema")));
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct Lint<'a> {
    pub(super) compile: &'a dyn Fn(&RawJson) -> Result<SchemaCheck, String>,
    pub(super) since: &'a [ToolInterface],
    pub(super) definitions: &'a [ToolInterface],
}

impl<'a> Lint<'a> {
    /// Creates a look that compiles JSON Schemas with `compile`, which fails with a sentence on what is wrong
    /// with a schema.
    pub fn new(compile: &'a dyn Fn(&RawJson) -> Result<SchemaCheck, String>) -> Self {
        Self { compile, since: &[], definitions: &[] }
    }

    /// Compares the documents with the same tools before, so that versions have to announce the changes.
    pub fn since(self, since: &'a [ToolInterface]) -> Self {
        Self { since, ..self }
    }

    /// Compares the documents with the definitions of the tools. Without any, nothing is compared.
    pub fn against(self, definitions: &'a [ToolInterface]) -> Self {
        Self { definitions, ..self }
    }

    /// Looks at documents.
    pub fn run(&self, documents: &[SpecDocument]) -> LintReport {
        let mut report = LintReport::default();
        let mut declared: HashMap<&str, (&SpecDocument, usize)> = HashMap::new();
        for document in documents {
            let begin = report.findings.len();
            report.findings.extend(of_document(document));
            for tool in &document.tools {
                let earlier = declared.get(tool.name.as_str()).copied();
                declared.entry(&tool.name).or_insert((document, tool.line));
                let findings = ToolLint::new(self, document, tool).run(earlier);
                report.tools.push(ToolVerdicts::of(&tool.name, &document.file, &findings));
                report.findings.extend(findings);
            }
            report.findings[begin..].sort_by_key(|finding| finding.line);
        }
        report
    }
}

/// Returns what is wrong with a document as a whole.
fn of_document(document: &SpecDocument) -> Vec<SpecFinding> {
    let finding = |rule, line, what: &str, help: &str| SpecFinding {
        severity: Severity::Error,
        rule,
        file: document.file.clone(),
        line,
        tool: None,
        pointer: None,
        what: what.to_owned(),
        help: help.to_owned(),
    };
    let mut findings = Vec::new();
    if document.tools.is_empty() {
        let help = "begin each tool with a heading of the second level: ## Tool: `module.tool`";
        findings.push(finding(SpecRule::Declaration, 1, "the document has no tool", help));
    }
    if let Some(line) = document.open_block {
        let help = "end it with the same fence on a line of its own";
        findings.push(finding(
            SpecRule::Sections,
            line,
            "the code block that begins here does not end",
            help,
        ));
    }
    findings
}

impl std::fmt::Debug for Lint<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lint")
            .field("since", &self.since)
            .field("definitions", &self.definitions)
            .finish_non_exhaustive()
    }
}
