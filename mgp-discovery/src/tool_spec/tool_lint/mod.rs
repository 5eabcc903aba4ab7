//! The look at the specification of one tool, section by section.

mod agreement;
mod content;
mod template;

use mgp_types::RawJson;
use serde_json::Value;

use super::document::{DocumentedTool, Section, SpecDocument};
use super::finding::{SpecFinding, SpecRule};
use super::lint::{Lint, SchemaCheck};
use super::section::SectionKind;
use crate::Position;
use crate::config::Severity;

/// The look at one tool.
pub(super) struct ToolLint<'a> {
    lint: &'a Lint<'a>,
    document: &'a SpecDocument,
    tool: &'a DocumentedTool,
    findings: Vec<SpecFinding>,
}

impl<'a> ToolLint<'a> {
    pub(super) const fn new(
        lint: &'a Lint<'a>,
        document: &'a SpecDocument,
        tool: &'a DocumentedTool,
    ) -> Self {
        Self { lint, document, tool, findings: Vec::new() }
    }

    /// Returns what is found. `earlier` is where a tool of the same name was declared before.
    pub(super) fn run(mut self, earlier: Option<(&SpecDocument, usize)>) -> Vec<SpecFinding> {
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
        if !self.lint.definitions.is_empty() {
            self.definition();
        }
        self.changes();
        self.findings
    }

    /// Checks that all JSON of a section can be read.
    fn parses(&mut self, section: &Section, rule: SpecRule) {
        for (line, text) in section.json() {
            self.parsed(rule, line, text);
        }
    }

    fn parsed(&mut self, rule: SpecRule, line: usize, text: &str) -> Option<Value> {
        let (place, why) = match RawJson::parse(text.to_owned()) {
            Ok(raw) => match raw.to() {
                Ok(value) => return Some(value),
                Err(error) => (line, error.to_string()),
            },
            Err(error) => (line + Position::of(text, error.offset).line, error.fault.to_string()),
        };
        self.error(
            rule,
            place,
            format!("the JSON is invalid: {why}"),
            "write JSON; a line break in a text is \\n",
        );
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
            self.at(Severity::Error, rule, line, pointer, what, "mend the example, or the schema");
        }
    }

    fn error(&mut self, rule: SpecRule, line: usize, what: impl Into<String>, help: impl Into<String>) {
        self.findings.push(SpecFinding {
            severity: Severity::Error,
            rule,
            file: self.document.file.clone(),
            line,
            tool: Some(self.tool.name.clone()),
            pointer: None,
            what: what.into(),
            help: help.into(),
        });
    }

    fn at(
        &mut self,
        severity: Severity,
        rule: SpecRule,
        line: usize,
        pointer: impl Into<String>,
        what: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.error(rule, line, what, help);
        if let Some(finding) = self.findings.last_mut() {
            finding.severity = severity;
            finding.pointer = Some(pointer.into());
        }
    }
}
