//! Example values for schemas.

use serde_json::{Map, Value, json};

use super::schema_diff::resolved;
use super::schema_rules::types;

/// Returns a value that fits the schema as far as its simple keywords say; patterns and conditions are not tried.
pub(super) fn sample(root: &Value) -> Value {
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
        let given = [
            schema.pointer("/examples/0"),
            schema.get("default"),
            schema.get("const"),
            schema.pointer("/enum/0"),
        ];
        if let Some(given) = given.into_iter().flatten().next() {
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
        let required =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in required {
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
