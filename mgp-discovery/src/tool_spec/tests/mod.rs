//! Tests of specification documents.

mod compared;
mod generated;
mod linted;
mod read;

use std::path::Path;

use mgp_types::RawJson;
use serde_json::Value;

use super::{LintReport, SchemaCheck, SpecDocument, SpecFinding, ToolInterface};

/// The document that `mgp spec lint` checks in the examples.
const EXAMPLE: &str = include_str!("../../../examples/MCP_TOOL_SPECIFICATION.md");

fn document(text: &str) -> SpecDocument {
    SpecDocument::read(Path::new("weather.md"), text)
}

fn lint(text: &str) -> LintReport {
    super::lint(&[document(text)], &[], &[], &compile)
}

/// Returns the findings about the example in which `from`, which it contains, was replaced.
fn findings_where(from: &str, to: &str) -> Vec<String> {
    assert!(EXAMPLE.contains(from), "{from}");
    let report = lint(&EXAMPLE.replacen(from, to, 1));
    let said = |finding: &SpecFinding| {
        let [name, ..] = finding.rule.facts();
        assert_eq!(serde_json::to_value(finding.rule).unwrap(), name);
        format!("{name}: {}", finding.what)
    };
    report.findings.iter().map(said).collect()
}

/// A stand-in for JSON Schema, which the kernel brings: it knows `required` and the types of properties.
fn compile(schema: &RawJson) -> Result<SchemaCheck, String> {
    let schema: Value = schema.to().map_err(|error| error.to_string())?;
    Ok(Box::new(move |value: &RawJson| {
        let value: Value = value.to().unwrap();
        for name in schema["required"].as_array().into_iter().flatten() {
            if value.get(name.as_str().unwrap()).is_none() {
                return Err(format!("{name} is missing"));
            }
        }
        for (name, value) in value.as_object().ok_or("not an object")? {
            let is_other = match schema["properties"][name]["type"].as_str() {
                Some("string") => !value.is_string(),
                Some("integer") => !value.is_i64(),
                Some("array") => !value.is_array(),
                _ => false,
            };
            if is_other {
                return Err(format!("{name} has another type"));
            }
        }
        Ok(())
    }))
}

/// Returns the tool with these schemas.
fn tool(input: &str, output: &str) -> ToolInterface {
    let output = if output.is_empty() { String::new() } else { format!(r#","outputSchema":{output}"#) };
    let definition = format!(r#"{{"name":"weather.get","inputSchema":{input}{output}}}"#);
    ToolInterface::of_definitions(&definition).unwrap().remove(0)
}
