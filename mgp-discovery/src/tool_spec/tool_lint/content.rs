//! The look at what stands in the sections: schemas, tables, examples and statements.

use mgp_types::RawJson;
use serde_json::Value;

use super::ToolLint;
use crate::config::Severity;
use crate::tool_spec::envelope::{self, Envelope};
use crate::tool_spec::error_types::ErrorTypes;
use crate::tool_spec::finding::SpecRule;
use crate::tool_spec::lint::SchemaCheck;
use crate::tool_spec::section::SectionKind;
use crate::tool_spec::{idempotency, schema_rules, schema_table};

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
            let what = "the section has no JSON Schema";
            self.error(
                rule,
                section.line,
                what,
                "add it between ```json and ```; an object without properties if there is nothing",
            );
            return None;
        };
        let schema = self.parsed(rule, line, text)?;
        if schema_rules::types(&schema) != ["object"] {
            self.at(
                Severity::Error,
                rule,
                line,
                "",
                "the root of the schema is not an object",
                "write \"type\": \"object\"",
            );
        }
        for fault in schema_rules::faults(&schema) {
            self.at(fault.severity, rule, line, &fault.pointer, fault.what, fault.help);
        }
        for fault in schema_table::faults(section, &schema) {
            self.error(table_rule, fault.line, fault.what, fault.help);
        }
        let compiled = RawJson::from_value(&schema)
            .map_err(|error| error.to_string())
            .and_then(|raw| (self.lint.compile)(&raw));
        match compiled {
            Ok(check) => Some(check),
            Err(error) => {
                self.error(rule, line, error, "mend the schema");
                None
            }
        }
    }

    /// Checks the JSON below the schema of the output: data, or whole results.
    pub(super) fn example_outputs(&mut self, output: Option<&SchemaCheck>) {
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

    pub(super) fn error_types(&mut self) -> ErrorTypes {
        let Some(section) = self.tool.section(SectionKind::ErrorHandling) else {
            return ErrorTypes::default();
        };
        self.parses(section, SpecRule::ErrorTypes);
        let types = ErrorTypes::of(section);
        if types.listed.is_empty() {
            let help = "list them in a table with the column Error Type, such as `ValidationError`";
            self.error(SpecRule::ErrorTypes, section.line, "no error type is listed", help);
        }
        for (line, unknown) in types.unknown() {
            self.error(
                SpecRule::ErrorTypes,
                line,
                format!("`{unknown}` is not a known error type"),
                types.advice(unknown),
            );
        }
        types
    }

    pub(super) fn idempotency(&mut self) {
        let Some(section) = self.tool.section(SectionKind::Idempotency) else { return };
        let mut texts = section.texts();
        let first = texts.next();
        if first.and_then(|(_, text)| idempotency::stated(text)).is_none() {
            let line = first.map_or(section.line, |(line, _)| line);
            let help = "begin with **Idempotent**: Yes, or **Idempotent**: No";
            self.error(
                SpecRule::Idempotency,
                line,
                "the section does not say whether the tool is idempotent",
                help,
            );
        } else if first.is_some_and(|(_, text)| text.split_whitespace().count() < 4) && texts.next().is_none()
        {
            let help = "add a sentence on what a second call with the same arguments changes and returns";
            self.error(
                SpecRule::Idempotency,
                section.line,
                "the section does not say what a repeated call does",
                help,
            );
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
            if let Some(data @ Value::Object(_)) =
                example.get("data").filter(|_| envelope::is_success(&example))
            {
                self.fits(SpecRule::Examples, line, "/data", data, output);
            }
            if let Some(unknown) = example.pointer("/error/error_type").and_then(Value::as_str)
                && !errors.is_known(unknown)
            {
                let what = format!("`{unknown}` is neither a known error type nor declared in section 5");
                self.at(
                    Severity::Error,
                    SpecRule::Examples,
                    line,
                    "/error/error_type",
                    what,
                    errors.advice(unknown),
                );
            }
        }
        for (number, what, help) in [
            (calls, "a call", "add JSON with `tool_name` and `arguments`"),
            (
                successes,
                "the result of a call that succeeds",
                "add JSON with the `status` success and `data`",
            ),
            (failures, "the result of a call that fails", "add JSON with the `status` failure and `error`"),
        ] {
            if number == 0 {
                self.error(SpecRule::Examples, section.line, format!("there is no example of {what}"), help);
            }
        }
    }

    pub(super) fn security(&mut self) {
        let Some(section) = self.tool.section(SectionKind::Security) else { return };
        self.parses(section, SpecRule::Security);
        if section.texts().next().is_none() && section.tables().next().is_none() {
            let help = "name the risks and what is done about them, how input is checked, and who may call";
            self.error(SpecRule::Security, section.line, "the section is empty", help);
        }
    }
}
