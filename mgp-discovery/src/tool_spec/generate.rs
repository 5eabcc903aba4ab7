//! Specification documents written from definitions of tools, with example values for their schemas.

use mgp_types::mgp::Version;
use serde_json::{Map, Value, json};

use super::interface::{InvalidDefinition, ToolInterface, invocation_name};
use super::schema_diff::resolved;
use super::schema_rules::{completed, texts, types};
use crate::names::UniqueNames;

/// A specification document, and what the definitions were silent about.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct GeneratedSpec {
    /// The document.
    pub document: String,
    /// The invocation names of its tools.
    pub tools: Vec<String>,
    /// The gaps that were filled in and should be written by a person, a sentence for each.
    pub gaps: Vec<String>,
}

/// Writes the specification document of tools, with `module` in front of their names if it is given, and `version` for
/// those that declare none. Where two would have one invocation name, the second ends in `_2`.
///
/// # Errors
/// The name of a tool has no dot, and no module is given.
pub fn generate(
    tools: &[ToolInterface],
    module: Option<&str>,
    version: Version,
) -> Result<GeneratedSpec, InvalidDefinition> {
    let document = "# MCP Tool Specification\n".to_owned();
    let mut spec = GeneratedSpec { document, tools: Vec::new(), gaps: Vec::new() };
    let mut unique = UniqueNames::default();
    for tool in tools {
        let name = invocation_name(module, &tool.name)
            .ok_or_else(|| InvalidDefinition::Unnamed(tool.name.clone()))?;
        let name = unique.name(&name, "_");
        ToolWriter { name: &name, tool, spec: &mut spec }.write(tool.version.unwrap_or(version));
        spec.tools.push(name);
    }
    Ok(spec)
}

/// The writer of one tool.
struct ToolWriter<'a> {
    name: &'a str,
    tool: &'a ToolInterface,
    spec: &'a mut GeneratedSpec,
}

impl ToolWriter<'_> {
    /// Writes the template `tool_document.txt`, with what the definition says in it.
    fn write(mut self, version: Version) {
        let tool = self.tool;
        if tool.purpose.is_empty() {
            self.gap("has no description");
        }
        let input = self.schema(&tool.input, "The arguments of the tool.", "parameter");
        let output = if let Some(output) = &tool.output {
            self.schema(output, "The data of a successful result.", "output field")
        } else {
            self.gap("has no output schema: the document allows any object");
            json!({
                "type": "object",
                "description": "The data of a successful result, of which the definition says nothing.",
                "additionalProperties": true,
            })
        };
        let arguments = sample(&input);
        let params = json!({ "name": tool.name, "arguments": arguments });
        for part in include_str!("tool_document.txt").split("{{") {
            let (name, text) = part.split_once("}}").unwrap_or(("", part));
            let said = match name {
                "name" => self.name.to_owned(),
                "version" => version.to_string(),
                "purpose" if tool.purpose.is_empty() => {
                    "The definition of the tool does not describe it.".to_owned()
                }
                "purpose" => prose(&tool.purpose),
                "parameters" => table(&input, true),
                "fields" => table(&output, false),
                "input" => format!("{input:#}"),
                "output" => format!("{output:#}"),
                "permission error" if tool.permissions.is_empty() => String::new(),
                "permission error" => {
                    "| `PermissionError` | A permission is missing. | Names the permission. |\n".to_owned()
                }
                "idempotency" => idempotency(tool.idempotent).to_owned(),
                "call" => format!("{:#}", json!({ "tool_name": self.name, "arguments": arguments })),
                "success" => format!("{:#}", json!({ "status": "success", "data": sample(&output) })),
                "request" => format!(
                    "{:#}",
                    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
                ),
                "permissions" => {
                    let needed = |permission: &String| {
                        format!("- The tool needs the permission `{}`.\n", cell(permission))
                    };
                    tool.permissions.iter().map(needed).collect()
                }
                _ => String::new(),
            };
            self.spec.document += &said;
            self.spec.document += text;
        }
    }

    fn schema(&mut self, schema: &Value, description: &str, what: &str) -> Value {
        let (schema, undescribed) = completed(schema, description);
        for pointer in undescribed {
            self.gap(&format!("has no description of the {what} at {pointer}"));
        }
        schema
    }

    fn gap(&mut self, what: &str) {
        self.spec.gaps.push(format!("`{}` {what}", self.name));
    }
}

const fn idempotency(is_idempotent: Option<bool>) -> &'static str {
    match is_idempotent {
        Some(true) => "**Idempotent**: Yes\n\nA second call with the same arguments changes nothing more.",
        Some(false) => "**Idempotent**: No\n\nA second call with the same arguments acts again.",
        None => {
            "**Idempotent**: No\n\nThe definition does not say that the tool is idempotent, so a second call with the \
             same arguments may act again."
        }
    }
}

/// Returns the table of the properties of a schema, the required ones first.
fn table(schema: &Value, with_required: bool) -> String {
    let root = resolved(schema, schema);
    let properties = root.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty());
    let (none, headings) = if with_required {
        ("The tool has no parameters.\n", "| Name | Type | Required | Description |\n|---|---|---|---|\n")
    } else {
        ("The fields are not described.\n", "| Name | Type | Description |\n|---|---|---|\n")
    };
    let Some(properties) = properties else { return none.to_owned() };
    let required = texts(root.get("required"));
    let mut rows: Vec<_> = properties.iter().collect();
    rows.sort_by_key(|(name, _)| !required.contains(&name.as_str()));
    let rows = rows.into_iter().map(|(name, property)| {
        let required = if required.contains(&name.as_str()) { "Yes | " } else { "No | " };
        let required = if with_required { required } else { "" };
        let property = resolved(schema, property);
        let described = property.get("description").and_then(Value::as_str).unwrap_or_default();
        let kind = types(property).join(" or ");
        format!("| `{}` | {kind} | {required}{} |\n", cell(name), cell(described))
    });
    std::iter::once(headings.to_owned()).chain(rows).collect()
}

/// Returns a server's text in a form that is no heading, table, code block or version of the document.
fn prose(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.trim();
        let is_markup = line.starts_with(['#', '|', '`', '~', '*']);
        if is_markup { format!("\\{line}") } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a value that fits the schema as far as its simple keywords say; patterns and conditions are not tried.
fn sample(root: &Value) -> Value {
    Sampler { root, left: MAX_VALUES }.sample(root, DEEPEST)
}

struct Sampler<'a> {
    root: &'a Value,
    /// The number of values that may still be made: references lead in circles.
    left: usize,
}

impl Sampler<'_> {
    fn sample(&mut self, schema: &Value, depth: usize) -> Value {
        let schema = resolved(self.root, schema);
        let (Some(depth), Some(left)) = (depth.checked_sub(1), self.left.checked_sub(1)) else {
            return Value::Null;
        };
        self.left = left;
        let given = ["/examples/0", "/default", "/const", "/enum/0"];
        if let Some(given) = given.into_iter().find_map(|pointer| schema.pointer(pointer)) {
            return given.clone();
        }
        for word in ["oneOf", "anyOf"] {
            if let Some(branch) = schema.get(word).and_then(|branches| branches.get(0)) {
                return self.sample(branch, depth);
            }
        }
        let first = types(schema).first().copied();
        match first.or_else(|| schema.get("properties").map(|_| "object")) {
            Some("object") => self.object(schema, depth),
            Some("array") => {
                let number = number(schema, "minItems").unwrap_or(1.0).clamp(0.0, MAX_ITEMS);
                let item = schema.get("items").map_or(Value::Null, |items| self.sample(items, depth));
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the number is small"
                )]
                Value::Array(vec![item; number as usize])
            }
            Some("string") => Value::String(text(schema)),
            Some(kind @ ("integer" | "number")) => {
                let (step, usual) = if kind == "integer" { (1.0, 1.0) } else { (0.5, 1.5) };
                let above = number(schema, "exclusiveMinimum").map(|least| least + step);
                let least = number(schema, "minimum").or(above).unwrap_or(usual);
                let value = least.min(number(schema, "maximum").unwrap_or(f64::MAX));
                #[expect(clippy::cast_possible_truncation, reason = "numbers beyond are no example")]
                let whole = value.ceil() as i64;
                if kind == "integer" { json!(whole) } else { json!(value) }
            }
            Some("boolean") => Value::Bool(true),
            _ => Value::Null,
        }
    }

    /// Returns an object with the required members.
    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut members = Map::new();
        let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
        for part in parts {
            if let Value::Object(more) = self.sample(part, depth) {
                members.extend(more);
            }
        }
        for name in texts(schema.get("required")) {
            let property = schema.get("properties").and_then(|properties| properties.get(name));
            let value = property.map_or(Value::Null, |property| self.sample(property, depth));
            members.insert(name.to_owned(), value);
        }
        Value::Object(members)
    }
}

fn text(schema: &Value) -> String {
    let format = schema.get("format").and_then(Value::as_str);
    let mut samples = include_str!("formats.txt").lines().filter_map(|line| line.split_once(' '));
    let text = samples.find(|(known, _)| format == Some(*known)).map_or("text", |(_, sample)| sample);
    let most = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(u64::MAX);
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0).min(LONGEST);
    let mut text: String = text.chars().take(usize::try_from(most).unwrap_or(usize::MAX)).collect();
    while (text.len() as u64) < least {
        text.push('a');
    }
    text
}

fn number(schema: &Value, word: &str) -> Option<f64> {
    schema.get(word).and_then(Value::as_f64)
}

/// The largest number of values in an example.
const MAX_VALUES: usize = 1_000;

/// The largest number of values within each other.
const DEEPEST: usize = 12;

/// The largest number of elements of an example.
const MAX_ITEMS: f64 = 8.0;

/// The largest length to which a text is filled up.
const LONGEST: u64 = 256;
