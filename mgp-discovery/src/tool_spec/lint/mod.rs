//! The look at specification documents, tool by tool and section by section.

mod content;

use std::collections::HashMap;

use mgp_types::RawJson;
use mgp_types::ext::DottedName;
use mgp_types::mgp::{ChangeClass, Version};
use serde_json::Value;

use super::ToolDiff;
use super::document::{Block, DocumentedTool, Section, SectionKind, SpecDocument};
use super::finding::{LintReport, SpecFinding, SpecRule, ToolVerdicts};
use super::interface::{ToolInterface, is_same_tool};
use crate::Position;
use crate::config::{Severity, nearest};

/// A compiled JSON Schema: checks a value, and fails with what is wrong with it.
pub type SchemaCheck = Box<dyn Fn(&RawJson) -> Result<(), String>>;

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
        let what = "the code block that begins here does not end";
        report.findings.extend(document.open_block.map(|line| error(SpecRule::Sections, line, what)));
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
    /// Compiles JSON Schemas, and fails with a sentence on what is wrong with a schema.
    compile: &'a dyn Fn(&RawJson) -> Result<SchemaCheck, String>,
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

    fn declaration(&mut self, earlier: Option<(&SpecDocument, usize)>) {
        let (line, name) = (self.tool.line, &self.tool.name);
        if !self.tool.is_quoted {
            self.error(SpecRule::Declaration, line, "the name does not stand between backticks");
        }
        if DottedName::read(name).is_none() {
            self.error(SpecRule::InvocationName, line, format!("`{name}` is not an invocation name"));
        }
        if let Some((document, earlier)) = earlier {
            let what = format!("`{name}` was declared before, in {}:{earlier}", document.file.display());
            self.error(SpecRule::InvocationName, line, what);
        }
        let Some(section) = self.tool.section(SectionKind::InvocationName) else { return };
        match section.texts().next().map(|(line, text)| (line, text.split('`').nth(1).unwrap_or(text))) {
            None => self.error(SpecRule::InvocationName, section.line, "the section is empty"),
            Some((line, said)) if said != *name => {
                let what = format!("the invocation name `{said}` is not that of the heading, `{name}`");
                self.error(SpecRule::InvocationName, line, what);
            }
            Some(_) => {}
        }
    }

    /// Checks that the eight sections are there once, in their order, and with their numbers if they have any. A section
    /// that is none of the eight may be there, but not with one of their numbers.
    fn sections(&mut self) {
        let mut seen: Vec<SectionKind> = Vec::new();
        for section in &self.tool.sections {
            let Some(kind) = section.kind else {
                if let Some(kind) = section.number.and_then(SectionKind::numbered) {
                    let (number, title) = (kind.number(), kind.title());
                    let what = format!("section {number} is not \"{}\", but \"{title}\"", section.title);
                    self.error(SpecRule::Sections, section.line, what);
                }
                continue;
            };
            let title = kind.title();
            if seen.contains(&kind) {
                let what = format!("the section \"{title}\" is there twice");
                self.error(SpecRule::Sections, section.line, what);
                continue;
            }
            if section.number.is_some_and(|number| number != kind.number()) {
                let what = format!("the section \"{title}\" has the number {}", kind.number());
                self.error(SpecRule::Sections, section.line, what);
            }
            if let Some(before) = seen.iter().max().filter(|before| **before > kind) {
                let what = format!("the section \"{title}\" stands behind \"{}\"", before.title());
                self.error(SpecRule::Sections, section.line, what);
            }
            seen.push(kind);
        }
        for kind in SectionKind::ALL.into_iter().filter(|kind| !seen.contains(kind)) {
            let what = format!("the section \"{}\" is missing", kind.title());
            self.error(SpecRule::Sections, self.tool.line, what);
        }
    }

    fn purpose(&mut self) {
        if let Some(section) = self.tool.section(SectionKind::Purpose)
            && self.tool.purpose().is_empty()
        {
            self.error(SpecRule::Purpose, section.line, "the section is empty");
        }
    }

    fn version(&mut self) {
        let Some((line, version)) = self.tool.version() else {
            return self.error(SpecRule::Version, self.tool.line, "the tool declares no version");
        };
        if let Err(error) = Version::strict(version) {
            self.error(SpecRule::Version, line, format!("`{version}` is {error}"));
        }
    }

    /// Compares the document with the definition of the tool.
    fn definition(&mut self) {
        let (line, name) = (self.tool.line, &self.tool.name);
        let Some(definition) = self.definitions.iter().find(|tool| is_same_tool(tool.name(), name)) else {
            let near = nearest(name, self.definitions.iter().map(ToolInterface::name));
            let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
            return self.error(SpecRule::Definition, line, format!("no tool `{name}` is defined{near}"));
        };
        let documented = ToolInterface::documented(self.tool);
        for change in documented.changes_since(&definition.completed()) {
            let is_interface =
                change.at.starts_with("/inputSchema/") || change.at.starts_with("/outputSchema/");
            if is_interface && change.class != ChangeClass::Documentation {
                let what = format!("the document differs from the definition: {}", change.what);
                self.at(Severity::Error, SpecRule::Definition, line, change.at, what);
            }
        }
        if let (Some(said), Some(hint)) = (documented.idempotent, definition.idempotent)
            && said != hint
        {
            let section = self.tool.section(SectionKind::Idempotency).map_or(line, |section| section.line);
            let what =
                format!("the document says {said}, and `idempotentHint` of the definition says {hint}");
            self.error(SpecRule::Idempotency, section, what);
        }
        let security = self.tool.section(SectionKind::Security);
        let is_named = |permission: &&String| security.is_some_and(|section| section.contains(permission));
        for permission in definition.permissions.iter().filter(|permission| !is_named(permission)) {
            let what = format!("the section does not name the permission `{permission}` of the definition");
            self.error(SpecRule::Security, security.map_or(line, |section| section.line), what);
        }
    }

    /// Checks that the version announces what changed, and that there is a guide for a new major version.
    fn changes(&mut self) {
        let Some(old) = self.since.iter().find(|old| is_same_tool(old.name(), &self.tool.name)) else {
            return;
        };
        let new = ToolInterface::documented(self.tool);
        let diff = ToolDiff::of(old, &new);
        let line = self.tool.version().map_or(self.tool.line, |(line, _)| line);
        if let (false, Some(version), Some(least), Some(change)) =
            (diff.is_announced, diff.new_version, diff.least_version, diff.changes.first())
        {
            let class = change.class.as_str();
            let what =
                format!("{version} does not announce a {class} change, as {least} does: {}", change.what);
            self.error(SpecRule::VersionBump, line, what);
        }
        let versions = new.version.zip(old.version);
        let is_major = versions.is_some_and(|(new, old)| new.announces(old) == Some(ChangeClass::Breaking));
        if is_major && self.tool.migration().is_none() {
            self.error(SpecRule::Migration, line, "a new major version has no migration guide");
        }
    }
}

impl Section {
    /// Returns whether a word stands anywhere in the section.
    fn contains(&self, word: &str) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Text { text, .. } | Block::Code { text, .. } => text.contains(word),
            Block::Table(table) => table.rows().any(|row| row.contains(word)),
        })
    }
}
