//! The look at what stands in the sections: schemas, tables, examples and statements.

use mgp_types::RawJson;
use mgp_types::ext::{EnvelopeReading, ToolCall, ToolResult};
use serde_json::Value;

use super::{SchemaCheck, ToolLint};
use crate::config::Severity;
use crate::tool_spec::error_types::ErrorTypes;
use crate::tool_spec::finding::SpecRule;
use crate::tool_spec::section::SectionKind;
use crate::tool_spec::{schema_rules, schema_table};

impl ToolLint<'_> {
    /// Checks the schema of a section and the table above it, and returns the compiled schema.
    pub(super) fn schema(
        &mut self,
        kind: SectionKind,
        rule: SpecRule,
        table_rule: SpecRule,
    ) -> Option<SchemaCheck> {
        let section = self.tool.section(kind)?;
        let Some((line, text)) = section.json().next() else {
            self.error(rule, section.line, "the section has no JSON Schema between ```json and ```");
            return None;
        };
        let schema = self.parsed(rule, line, text)?;
        if schema_rules::types(&schema) != ["object"] {
            self.at(Severity::Error, rule, line, "", "the root of the schema is not an object");
        }
        for fault in schema_rules::faults(&schema) {
            self.at(fault.severity, rule, line, &fault.pointer, fault.what);
        }
        for (line, what) in schema_table::faults(section, &schema) {
            self.error(table_rule, line, what);
        }
        let raw = RawJson::from_value(&schema).map_err(|error| error.to_string());
        raw.and_then(|raw| (self.compile)(&raw)).map_err(|error| self.error(rule, line, error)).ok()
    }

    /// Checks the JSON below the schema of the output: data, or whole results. Data may have a member `status` too, so
    /// that a result is only what has nothing that results do not have.
    pub(super) fn example_outputs(&mut self, output: Option<&SchemaCheck>) {
        let Some(section) = self.tool.section(SectionKind::OutputSchema) else { return };
        for (line, text) in section.json().skip(1) {
            let Some(example) = self.parsed(SpecRule::OutputSchema, line, text) else { continue };
            let is_result = ToolResult::from_json(text.to_owned()).is_ok_and(|result| {
                result.unknown().is_empty() && (result.data().is_some() || result.error().is_some())
            });
            match example.get("data").filter(|_| is_result) {
                Some(data) => self.fits(SpecRule::OutputSchema, line, "/data", data, output),
                None if is_result => {}
                None => self.fits(SpecRule::OutputSchema, line, "", &example, output),
            }
        }
    }

    pub(super) fn error_types(&mut self) -> ErrorTypes {
        let Some(section) = self.tool.section(SectionKind::ErrorHandling) else {
            return ErrorTypes::default();
        };
        for (line, text) in section.json() {
            self.parsed(SpecRule::ErrorTypes, line, text);
        }
        let types = ErrorTypes::of(section);
        if types.listed.is_empty() {
            self.error(SpecRule::ErrorTypes, section.line, "no error type is listed");
        }
        for (line, name) in &types.listed {
            if let Some(what) = types.fault(name) {
                self.error(SpecRule::ErrorTypes, *line, what);
            }
        }
        types
    }

    pub(super) fn idempotency(&mut self) {
        let Some(section) = self.tool.section(SectionKind::Idempotency) else { return };
        let mut texts = section.texts();
        let first = texts.next();
        if self.tool.idempotent().is_none() {
            let line = first.map_or(section.line, |(line, _)| line);
            let what = "the section does not say whether the tool is idempotent";
            self.error(SpecRule::Idempotency, line, what);
        } else if first.is_some_and(|(_, text)| text.split_whitespace().count() < 4) && texts.next().is_none()
        {
            let what = "the section does not say what a repeated call does";
            self.error(SpecRule::Idempotency, section.line, what);
        }
    }

    /// Checks the calls and the results of the examples; other JSON only has to be valid.
    pub(super) fn examples(
        &mut self,
        input: Option<&SchemaCheck>,
        output: Option<&SchemaCheck>,
        errors: &ErrorTypes,
    ) {
        let Some(section) = self.tool.section(SectionKind::Examples) else { return };
        let (mut calls, mut successes, mut failures) = (0, 0, 0);
        for (line, text) in section.json() {
            let Some(example) = self.parsed(SpecRule::Examples, line, text) else { continue };
            if let Some(name) = example.get("tool_name") {
                calls += 1;
                if *name != *self.tool.name {
                    let what = format!("the call is not one of `{}`", self.tool.name);
                    self.at(Severity::Error, SpecRule::Examples, line, "/tool_name", what);
                } else if let Err(fault) = ToolCall::from_json(text.to_owned(), EnvelopeReading::Strict) {
                    self.error(SpecRule::Examples, line, fault.to_string());
                }
                let arguments = example.get("arguments").unwrap_or(&Value::Null);
                self.fits(SpecRule::Examples, line, "/arguments", arguments, input);
                continue;
            }
            let Some(status) = example.get("status") else { continue };
            if let Err(fault) = ToolResult::from_json(text.to_owned()) {
                self.error(SpecRule::Examples, line, fault.to_string());
            }
            *(if *status == "failure" { &mut failures } else { &mut successes }) += 1;
            if let Some(data @ Value::Object(_)) = example.get("data").filter(|_| *status == "success") {
                self.fits(SpecRule::Examples, line, "/data", data, output);
            }
            let error_type = example.pointer("/error/error_type").and_then(Value::as_str);
            if let Some(what) = error_type.and_then(|name| errors.fault(name)) {
                self.at(Severity::Error, SpecRule::Examples, line, "/error/error_type", what);
            }
        }
        for (number, what) in [
            (calls, "a call"),
            (successes, "the result of a call that succeeds"),
            (failures, "the result of a call that fails"),
        ] {
            if number == 0 {
                self.error(SpecRule::Examples, section.line, format!("there is no example of {what}"));
            }
        }
    }

    pub(super) fn security(&mut self) {
        let Some(section) = self.tool.section(SectionKind::Security) else { return };
        for (line, text) in section.json() {
            self.parsed(SpecRule::Security, line, text);
        }
        if section.texts().next().is_none() && section.tables().next().is_none() {
            self.error(SpecRule::Security, section.line, "the section is empty");
        }
    }
}
