//! The look at what stands in the sections: schemas, tables, examples and statements.

use std::collections::HashSet;

use mgp_types::RawJson;
use mgp_types::ext::{EnvelopeReading, ErrorType, ToolCall, ToolResult};
use serde_json::Value;

use super::{SchemaCheck, ToolLint};
use crate::config::{Severity, nearest};
use crate::tool_spec::document::{MarkdownTable, Section, SectionKind, TableRow};
use crate::tool_spec::finding::SpecRule;
use crate::tool_spec::schema_diff::resolved;
use crate::tool_spec::schema_rules;

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
        schema_rules::faults(&schema, &mut |severity, pointer: &str, what: &str| {
            self.at(severity, rule, line, pointer, what);
        });
        for (line, what) in table_faults(section, &schema) {
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

/// The types of errors in the section on errors.
#[derive(Debug, Clone, Default)]
pub(super) struct ErrorTypes {
    /// The types with their lines: of the column "Error Type" of a table, or of items such as ``- `ValidationError`: …``.
    listed: Vec<(usize, String)>,
    /// The tool's own types, of the line ``**Custom error types**: `A`, `B` ``.
    custom: Vec<String>,
}

impl ErrorTypes {
    fn of(section: &Section) -> Self {
        let rows = section.tables().flat_map(MarkdownTable::rows);
        let listed = rows.filter_map(|row| Some((row.line, row.cell(&["error", "error_type"])?.to_owned())));
        let mut types = Self { listed: listed.collect(), custom: Vec::new() };
        for (line, text) in section.texts() {
            if let Some(names) = text.strip_prefix(CUSTOM) {
                types.custom.extend(quoted(names).map(str::to_owned));
            } else if let Some(name) = text.strip_prefix(['-', '*']).and_then(|item| quoted(item).next())
                && is_error_type(name)
            {
                types.listed.push((line, name.to_owned()));
            }
        }
        types
    }

    /// Returns what is wrong with a type that is neither one of the standard ones nor declared.
    fn fault(&self, name: &str) -> Option<String> {
        let custom = self.custom.iter().map(String::as_str);
        let known = || ErrorType::KNOWN.iter().map(ErrorType::as_str).chain(custom.clone());
        if known().any(|known| known == name) {
            return None;
        }
        Some(match nearest(name, known()) {
            Some(near) => format!("`{name}` is not a known error type: did you mean `{near}`?"),
            None => format!("`{name}` is neither a known error type nor declared in section 5"),
        })
    }
}

/// Returns what stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_error_type(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

const CUSTOM: &str = "**Custom error types**:";

/// Returns what the first table of a section says differently than the schema, each with its line.
///
/// The table has a row for each property of the root. The first column has the name, the columns "Type" and "Required"
/// the rest. Only parameters need the column "Required".
fn table_faults(section: &Section, schema: &Value) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let root = resolved(schema, schema);
    let none = serde_json::Map::new();
    let properties = root.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = schema_rules::texts(root.get("required"));
    let Some(table) = section.tables().next() else {
        if !properties.is_empty() {
            let what = "the section has no table with the columns Name, Type, Required and Description";
            faults.push((section.line, what.to_owned()));
        }
        return faults;
    };
    let mut seen = HashSet::new();
    for row in table.rows() {
        let name = row.name();
        let mut fault = |what: String| faults.push((row.line, what));
        let Some(property) = properties.get(name) else {
            fault(format!("the table has `{name}`, which is not in the schema"));
            continue;
        };
        if !seen.insert(name) {
            fault(format!("the table has `{name}` twice"));
        }
        let expected = schema_rules::types(resolved(schema, property));
        if let Some(said) = said_type(row).filter(|said| !expected.is_empty() && !is_type(said, &expected)) {
            let expected = expected.join(" or ");
            fault(format!("the table says that `{name}` is {said}, and the schema says {expected}"));
        }
        let is_required = required.contains(&name);
        let presence = |word: bool| if word { "required" } else { "optional" };
        match row.cell(&["required", "required?"]).map(yes_or_no) {
            None if section.kind != Some(SectionKind::InputSchema) => {}
            Some(Some(said)) if said == is_required => {}
            Some(Some(said)) => fault(format!(
                "the table says that `{name}` is {}, and the schema that it is {}",
                presence(said),
                presence(is_required)
            )),
            Some(None) | None => {
                fault(format!("the table does not say whether `{name}` is required: write Yes or No"));
            }
        }
    }
    for name in properties.keys().filter(|name| !seen.contains(name.as_str())) {
        faults.push((table.line, format!("the table lacks `{name}`")));
    }
    faults
}

/// Returns the first type that a row names; an array if its elements have the type.
fn said_type(row: TableRow<'_>) -> Option<&'static str> {
    let cell = row.cell(&["type"])?.to_lowercase();
    let mut words = cell.split(|c: char| !c.is_ascii_alphabetic());
    let said = words.find_map(|word| schema_rules::TYPES.into_iter().find(|known| *known == word))?;
    Some(if cell.ends_with("[]") { "array" } else { said })
}

fn is_type(said: &str, expected: &[&str]) -> bool {
    // Whole numbers are numbers.
    expected.contains(&said) || (said == "number" && expected.contains(&"integer"))
}

fn yes_or_no(cell: &str) -> Option<bool> {
    match cell.to_lowercase().as_str() {
        "yes" | "required" | "true" | "✓" => Some(true),
        "no" | "optional" | "false" | "✗" | "-" | "" => Some(false),
        _ => None,
    }
}
