//! The look at the specification of one tool, section by section.

use mgp_types::RawJson;
use serde_json::Value;

use super::document::{Block, DocumentedTool, Section, SpecDocument};
use super::envelope::{self, Envelope};
use super::error_types::ErrorTypes;
use super::finding::{SpecFinding, SpecRule};
use super::interface::ToolInterface;
use super::lint::{Lint, SchemaCheck};
use super::section::SectionKind;
use super::version::{ChangeClass, ToolVersion};
use super::{ToolDiff, idempotency, name, schema_rules, schema_table};
use crate::config::{Severity, nearest};

/// The look at one tool.
pub(super) struct ToolLint<'a> {
    lint: &'a Lint<'a>,
    document: &'a SpecDocument,
    tool: &'a DocumentedTool,
    findings: Vec<SpecFinding>,
}

impl<'a> ToolLint<'a> {
    pub(super) const fn new(lint: &'a Lint<'a>, document: &'a SpecDocument, tool: &'a DocumentedTool) -> Self {
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

    fn declaration(&mut self, earlier: Option<(&SpecDocument, usize)>) {
        let (line, name) = (self.tool.line, &self.tool.name);
        if !self.tool.is_quoted {
            self.error(SpecRule::Declaration, line, "the name does not stand between backticks", "write ## Tool: `module.tool`");
        }
        if !name::is_invocation_name(name) {
            let what = format!("`{name}` is not an invocation name");
            let help = "write module.tool in lower-case letters, digits and underscores";
            self.error(SpecRule::InvocationName, line, what, help);
        }
        if let Some((document, earlier)) = earlier {
            let what = format!("`{name}` was declared before, in {}:{earlier}", document.file.display());
            self.error(SpecRule::InvocationName, line, what, "give one of the two tools another name");
        }
        let Some(section) = self.tool.section(SectionKind::InvocationName) else { return };
        let said = section.texts().next().map(|(line, text)| {
            let quoted = text.split('`').nth(1);
            (line, quoted.unwrap_or(text).to_owned())
        });
        match said {
            None => self.error(SpecRule::InvocationName, section.line, "the section is empty", format!("write `{name}`")),
            Some((line, said)) if said != *name => {
                let what = format!("the invocation name `{said}` is not that of the heading, `{name}`");
                self.error(SpecRule::InvocationName, line, what, "write the same name in both places");
            }
            Some(_) => {}
        }
    }

    /// Checks that the eight sections are there once, in their order, and with their numbers if they have any.
    fn sections(&mut self) {
        let mut before: Option<SectionKind> = None;
        for section in &self.tool.sections {
            let Some(kind) = section.kind else {
                self.unknown(section);
                continue;
            };
            let title = kind.title();
            if self.tool.section(kind).is_some_and(|first| first.line != section.line) {
                self.error(SpecRule::Sections, section.line, format!("the section \"{title}\" is there twice"), "put the two together");
                continue;
            }
            if section.number.is_some_and(|number| number != kind.number()) {
                let what = format!("the section \"{title}\" has the number {}", kind.number());
                self.error(SpecRule::Sections, section.line, what, format!("write ### {}. {title}", kind.number()));
            }
            if let Some(before) = before.filter(|before| *before > kind) {
                let what = format!("the section \"{title}\" stands behind \"{}\"", before.title());
                self.error(SpecRule::Sections, section.line, what, "put the sections into the order of their numbers");
            }
            before = before.max(Some(kind));
        }
        for kind in SectionKind::ALL {
            if self.tool.section(kind).is_none() {
                let what = format!("the section \"{}\" is missing", kind.title());
                let help = format!("add ### {}. {}", kind.number(), kind.title());
                self.error(SpecRule::Sections, self.tool.line, what, help);
            }
        }
    }

    /// Checks a section that is none of the eight. It may be there, but not with one of their numbers.
    fn unknown(&mut self, section: &Section) {
        let taken = section.number.and_then(|number| SectionKind::ALL.get(number.checked_sub(1)?));
        if let Some(kind) = taken {
            let what = format!("section {} is not \"{}\"", kind.number(), section.title);
            self.error(SpecRule::Sections, section.line, what, format!("write ### {}. {}", kind.number(), kind.title()));
        }
    }

    fn purpose(&mut self) {
        if let Some(section) = self.tool.section(SectionKind::Purpose)
            && self.tool.purpose().is_empty()
        {
            let help = "say what the tool does, what it is for, and what to know before a call";
            self.error(SpecRule::Purpose, section.line, "the section is empty", help);
        }
    }

    fn version(&mut self) {
        let help = "write **Version**: 1.0.0 below the heading of the tool";
        match self.tool.version() {
            None => self.error(SpecRule::Version, self.tool.line, "the tool declares no version", help),
            Some((line, version)) => {
                if let Err(error) = version.parse::<ToolVersion>() {
                    self.error(SpecRule::Version, line, format!("`{version}` is {error}"), help);
                }
            }
        }
    }

    /// Checks the schema of a section and the table above it, and returns the compiled schema.
    fn schema(&mut self, kind: SectionKind, rule: SpecRule, table_rule: SpecRule) -> Option<SchemaCheck> {
        let section = self.tool.section(kind)?;
        let Some((line, text)) = section.json().next() else {
            let what = "the section has no JSON Schema";
            self.error(rule, section.line, what, "add it between ```json and ```; an object without properties if there is nothing");
            return None;
        };
        let schema = self.parsed(rule, line, text)?;
        if schema_rules::types(&schema) != ["object"] {
            self.at(Severity::Error, rule, line, "", "the root of the schema is not an object", "write \"type\": \"object\"");
        }
        for fault in schema_rules::faults(&schema) {
            self.at(fault.severity, rule, line, &fault.pointer, fault.what, fault.help);
        }
        for fault in schema_table::faults(section, &schema) {
            self.error(table_rule, fault.line, fault.what, fault.help);
        }
        let compiled = RawJson::from_value(&schema).map_err(|error| error.to_string()).and_then(|raw| (self.lint.compile)(&raw));
        match compiled {
            Ok(check) => Some(check),
            Err(error) => {
                self.error(rule, line, error, "mend the schema");
                None
            }
        }
    }

    /// Checks the JSON below the schema of the output: data, or whole results.
    fn example_outputs(&mut self, output: Option<&SchemaCheck>) {
        let Some(section) = self.tool.section(SectionKind::OutputSchema) else { return };
        for (line, text) in section.json().skip(1) {
            let Some(example) = self.parsed(SpecRule::OutputSchema, line, text) else { continue };
            let (pointer, data) = match envelope::of_output(&example) {
                Envelope::Result => ("/data", example.get("data").unwrap_or(&Value::Null)),
                _ => ("", &example),
            };
            if data.is_object() || pointer.is_empty() {
                self.fits(SpecRule::OutputSchema, line, pointer, data, output);
            }
        }
    }

    fn error_types(&mut self) -> ErrorTypes {
        let Some(section) = self.tool.section(SectionKind::ErrorHandling) else { return ErrorTypes::default() };
        self.parses(section, SpecRule::ErrorTypes);
        let types = ErrorTypes::of(section);
        if types.listed.is_empty() {
            let help = "list them in a table with the column Error Type, such as `ValidationError`";
            self.error(SpecRule::ErrorTypes, section.line, "no error type is listed", help);
        }
        for (line, unknown) in types.unknown() {
            self.error(SpecRule::ErrorTypes, line, format!("`{unknown}` is not a known error type"), types.advice(unknown));
        }
        types
    }

    fn idempotency(&mut self) {
        let Some(section) = self.tool.section(SectionKind::Idempotency) else { return };
        let mut texts = section.texts();
        let first = texts.next();
        if first.and_then(|(_, text)| idempotency::stated(text)).is_none() {
            let line = first.map_or(section.line, |(line, _)| line);
            let help = "begin with **Idempotent**: Yes, or **Idempotent**: No";
            self.error(SpecRule::Idempotency, line, "the section does not say whether the tool is idempotent", help);
        } else if first.is_some_and(|(_, text)| text.split_whitespace().count() < 4) && texts.next().is_none() {
            let help = "add a sentence on what a second call with the same arguments changes and returns";
            self.error(SpecRule::Idempotency, section.line, "the section does not say what a repeated call does", help);
        }
    }

    /// Checks the calls and the results of the examples; other JSON only has to be valid.
    fn examples(&mut self, input: Option<&SchemaCheck>, output: Option<&SchemaCheck>, errors: &ErrorTypes) {
        let Some(section) = self.tool.section(SectionKind::Examples) else { return };
        let (mut calls, mut successes, mut failures) = (0, 0, 0);
        for (line, text) in section.json() {
            let Some(example) = self.parsed(SpecRule::Examples, line, text) else { continue };
            let kind = envelope::of_example(&example);
            let faults = match kind {
                Envelope::Call => envelope::call_faults(&example, &self.tool.name),
                Envelope::Result => envelope::result_faults(&example),
                Envelope::Other => continue,
            };
            for fault in faults {
                self.at(Severity::Error, SpecRule::Examples, line, fault.pointer, fault.what, fault.help);
            }
            if kind == Envelope::Call {
                calls += 1;
                let arguments = example.get("arguments").unwrap_or(&Value::Null);
                self.fits(SpecRule::Examples, line, "/arguments", arguments, input);
                continue;
            }
            let is_failure = envelope::is_failure(&example);
            failures += usize::from(is_failure);
            successes += usize::from(!is_failure);
            if let Some(data @ Value::Object(_)) = example.get("data").filter(|_| envelope::is_success(&example)) {
                self.fits(SpecRule::Examples, line, "/data", data, output);
            }
            if let Some(unknown) = example.pointer("/error/error_type").and_then(Value::as_str)
                && !errors.is_known(unknown)
            {
                let what = format!("`{unknown}` is neither a known error type nor declared in section 5");
                self.at(Severity::Error, SpecRule::Examples, line, "/error/error_type", what, errors.advice(unknown));
            }
        }
        for (number, what, help) in [
            (calls, "a call", "add JSON with `tool_name` and `arguments`"),
            (successes, "the result of a call that succeeds", "add JSON with the `status` success and `data`"),
            (failures, "the result of a call that fails", "add JSON with the `status` failure and `error`"),
        ] {
            if number == 0 {
                self.error(SpecRule::Examples, section.line, format!("there is no example of {what}"), help);
            }
        }
    }

    fn security(&mut self) {
        let Some(section) = self.tool.section(SectionKind::Security) else { return };
        self.parses(section, SpecRule::Security);
        if section.texts().next().is_none() && section.tables().next().is_none() {
            let help = "name the risks and what is done about them, how input is checked, and who may call";
            self.error(SpecRule::Security, section.line, "the section is empty", help);
        }
    }

    /// Compares the document with the definition of the tool.
    fn definition(&mut self) {
        let (line, name) = (self.tool.line, &self.tool.name);
        let Some(definition) = self.lint.definitions.iter().find(|tool| name::is_same(tool.name(), name)) else {
            let known = self.lint.definitions.iter().map(ToolInterface::name);
            let near = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
            let help = near.unwrap_or_else(|| "document the tools that are defined, under their names".to_owned());
            return self.error(SpecRule::Definition, line, format!("no tool `{name}` is defined"), help);
        };
        let documented = ToolInterface::documented(self.tool);
        for change in documented.changes_since(&definition.completed()) {
            let is_interface = change.at.starts_with("/inputSchema/") || change.at.starts_with("/outputSchema/");
            if is_interface && change.class != ChangeClass::Documentation {
                let what = format!("the document differs from the definition: {}", change.what);
                self.at(Severity::Error, SpecRule::Definition, line, change.at, what, "write what the definition says, or change the tool");
            }
        }
        if let (Some(said), Some(hint)) = (documented.idempotent, definition.idempotent)
            && said != hint
        {
            let section = self.tool.section(SectionKind::Idempotency).map_or(line, |section| section.line);
            let what = format!("the document says {said}, and `idempotentHint` of the definition says {hint}");
            self.error(SpecRule::Idempotency, section, what, "say the same in both");
        }
        let security = self.tool.section(SectionKind::Security);
        let is_named = |permission: &&String| security.is_some_and(|section| section.contains(permission));
        for permission in definition.permissions.iter().filter(|permission| !is_named(permission)) {
            let what = format!("the section does not name the permission `{permission}` of the definition");
            let line = security.map_or(line, |section| section.line);
            self.error(SpecRule::Security, line, what, "say what the tool needs it for");
        }
    }

    /// Checks that the version announces what changed, and that there is a guide for a new major version.
    fn changes(&mut self) {
        let Some(old) = self.lint.since.iter().find(|old| name::is_same(old.name(), &self.tool.name)) else { return };
        let new = ToolInterface::documented(self.tool);
        let diff = ToolDiff::of(old, &new);
        let line = self.tool.version().map_or(self.tool.line, |(line, _)| line);
        if let (false, Some(version), Some(least), Some(change)) =
            (diff.is_announced, diff.new_version, diff.least_version, diff.changes.first())
        {
            let what = format!("{version} does not announce a {} change: {}", change.class.as_str(), change.what);
            self.error(SpecRule::VersionBump, line, what, format!("write at least {least}"));
        }
        let is_major = new.version.zip(old.version).is_some_and(|(new, old)| new.announces(old) == Some(ChangeClass::Breaking));
        if is_major && self.tool.migration().is_none() {
            let what = "a new major version has no migration guide";
            self.error(SpecRule::Migration, line, what, "add the section ### Migration Guide: what callers change, or where they read it");
        }
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
            Err(error) => {
                let before = &text.as_bytes()[..error.offset.min(text.len())];
                (line + 1 + before.iter().filter(|byte| **byte == b'\n').count(), error.fault.to_string())
            }
        };
        self.error(rule, place, format!("the JSON is invalid: {why}"), "write JSON; a line break in a text is \\n");
        None
    }

    fn fits(&mut self, rule: SpecRule, line: usize, pointer: &str, value: &Value, check: Option<&SchemaCheck>) {
        let Some(check) = check else { return };
        let checked = RawJson::from_value(value).map_err(|error| error.to_string()).and_then(|raw| check(&raw));
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

impl Section {
    /// Returns whether a word stands anywhere in the section.
    fn contains(&self, word: &str) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Text { text, .. } | Block::Code { text, .. } => text.contains(word),
            Block::Table(table) => table.rows().any(|row| row.contains(word)),
        })
    }
}
