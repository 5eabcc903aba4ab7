//! The look at specification documents, tool by tool and section by section.

mod agreement;
mod content;
mod template;

use std::collections::HashMap;

use mgp_types::RawJson;
use serde_json::Value;

use super::document::{DocumentedTool, SectionKind, SpecDocument};
use super::finding::{LintReport, SpecFinding, SpecRule, ToolVerdicts};
use super::interface::ToolInterface;
use crate::Position;
use crate::config::Severity;

/// A compiled JSON Schema: checks a value, and fails with what is wrong with it.
pub type SchemaCheck = Box<dyn Fn(&RawJson) -> Result<(), String>>;

/// The compiler of JSON Schemas, which fails with a sentence on what is wrong with a schema.
type SchemaCompiler<'a> = &'a dyn Fn(&RawJson) -> Result<SchemaCheck, String>;

/// Looks at specification documents.
///
/// Versions have to announce what changed since the same tools in `since`. Documents are compared with `definitions`, if
/// there are any. `compile` compiles JSON Schemas.
///
/// ```
/// use mgp_discovery::tool_spec::{SchemaCheck, SpecDocument, lint};
///
/// let document = SpecDocument::read("MCP_TOOL_SPECIFICATION.md".as_ref(), "## Tool: `text.count`\n");
/// let compile = |_: &_| -> Result<SchemaCheck, String> { Ok(Box::new(|_| Ok(()))) };
/// let report = lint(&[document], &[], &[], &compile);
/// assert!(report.findings.iter().any(|finding| finding.to_string().contains("Input Schema")));
/// ```
pub fn lint(
    documents: &[SpecDocument],
    since: &[ToolInterface],
    definitions: &[ToolInterface],
    compile: &dyn Fn(&RawJson) -> Result<SchemaCheck, String>,
) -> LintReport {
    let mut report = LintReport::default();
    let mut declared: HashMap<&str, (&SpecDocument, usize)> = HashMap::new();
    for document in documents {
        let begin = report.findings.len();
        let error = |rule, line, what| SpecFinding::error(&document.file, rule, line, what);
        if document.tools.is_empty() {
            report.findings.push(error(SpecRule::Declaration, 1, "the document has no tool"));
        }
        let open = document.open_block;
        report.findings.extend(
            open.map(|line| error(SpecRule::Sections, line, "the code block that begins here does not end")),
        );
        for tool in &document.tools {
            let earlier = declared.get(tool.name.as_str()).copied();
            declared.entry(&tool.name).or_insert((document, tool.line));
            let lint = ToolLint { since, definitions, compile, document, tool, findings: Vec::new() };
            let findings = lint.run(earlier);
            report.tools.push(ToolVerdicts::of(&tool.name, &document.file, &findings));
            report.findings.extend(findings);
        }
        report.findings[begin..].sort_by_key(|finding| finding.line);
    }
    report
}

/// The look at one tool.
struct ToolLint<'a> {
    since: &'a [ToolInterface],
    definitions: &'a [ToolInterface],
    compile: SchemaCompiler<'a>,
    document: &'a SpecDocument,
    tool: &'a DocumentedTool,
    findings: Vec<SpecFinding>,
}

impl ToolLint<'_> {
    /// Returns what is found. `earlier` is where a tool of the same name was declared before.
    fn run(mut self, earlier: Option<(&SpecDocument, usize)>) -> Vec<SpecFinding> {
        self.declaration(earlier);
        self.sections();
        self.purpose();
        self.version();
        let input = self.schema(SectionKind::InputSchema, SpecRule::InputSchema, SpecRule::InputTable);
        let output = self.schema(SectionKind::OutputSchema, SpecRule::OutputSchema, SpecRule::OutputTable);
        self.example_outputs(output.as_ref());
        let errors = self.error_types();
        self.idempotency();
        self.examples(input.as_ref(), output.as_ref(), &errors);
        self.security();
        if !self.definitions.is_empty() {
            self.definition();
        }
        self.changes();
        self.findings
    }

    fn parsed(&mut self, rule: SpecRule, line: usize, text: &str) -> Option<Value> {
        let (place, why) = match RawJson::parse(text.to_owned()) {
            Ok(raw) => match raw.to() {
                Ok(value) => return Some(value),
                Err(error) => (line, error.to_string()),
            },
            Err(error) => (line + Position::of(text, error.offset).line, error.fault.to_string()),
        };
        self.error(rule, place, format!("the JSON is invalid: {why}"));
        None
    }

    fn fits(
        &mut self,
        rule: SpecRule,
        line: usize,
        pointer: &str,
        value: &Value,
        check: Option<&SchemaCheck>,
    ) {
        let Some(check) = check else { return };
        let checked =
            RawJson::from_value(value).map_err(|error| error.to_string()).and_then(|raw| check(&raw));
        if let Err(why) = checked {
            let what = format!("the example does not fit the schema: {why}");
            self.at(Severity::Error, rule, line, pointer, what);
        }
    }

    fn error(&mut self, rule: SpecRule, line: usize, what: impl Into<String>) {
        let tool = Some(self.tool.name.clone());
        self.findings.push(SpecFinding { tool, ..SpecFinding::error(&self.document.file, rule, line, what) });
    }

    fn at(
        &mut self,
        severity: Severity,
        rule: SpecRule,
        line: usize,
        pointer: impl Into<String>,
        what: impl Into<String>,
    ) {
        self.error(rule, line, what);
        if let Some(finding) = self.findings.last_mut() {
            finding.severity = severity;
            finding.pointer = Some(pointer.into());
        }
    }
}
