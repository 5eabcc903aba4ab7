//! The judge of a tool's arguments, which names each of their faults: what is wrong, and what would be right.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use mgp_types::RawJson;
use serde::Serialize;
use serde_json::Value;

use super::{Schema, SchemaFault, pattern_advice as pattern};

/// A schema that judges arguments, and says of each fault what is wrong and what would be right.
#[derive(Debug)]
pub struct ArgumentJudge(Schema);

impl ArgumentJudge {
    /// Compiles a schema that somebody wrote, and enforces `format`.
    ///
    /// # Errors
    /// Fails as [`Schema::compile`] does.
    pub fn compile(schema: &RawJson) -> Result<Self, SchemaFault> {
        Schema::compile_with_formats(schema).map(Self)
    }

    /// Compiles a schema whose patterns take time in proportion to the text.
    ///
    /// # Errors
    /// Fails as [`Schema::compile`] does, and for a pattern that looks around itself or back.
    pub fn compile_linear(schema: &RawJson) -> Result<Self, SchemaFault> {
        Schema::build(schema, true, true).map(Self)
    }

    /// Returns the faults of the arguments, those that explain others first.
    pub fn violations(&self, arguments: &Value) -> Vec<Violation> {
        let Schema { compiled, cost, .. } = &self.0;
        let is_cheap = cost.is_bearable(arguments);
        if is_cheap && compiled.is_valid(arguments) {
            return Vec::new();
        }
        if !self.0.explains(arguments) {
            return vec![Violation::of_all(if is_cheap { "schema" } else { "cost" })];
        }
        let errors = compiled.iter_errors(arguments).take(MAX_VIOLATIONS);
        let mut found: Vec<_> =
            errors.flat_map(|error| Violation::of_error(&cost.schema, arguments, &error)).collect();
        found.sort_by_key(Violation::rank);
        found.truncate(MAX_VIOLATIONS);
        found
    }
}

/// The fault of one argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[must_use]
pub struct Violation {
    /// The kind of the error: `FieldValidation`.
    pub error_type: &'static str,
    /// The name of the argument; `None` for a fault of all arguments together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The JSON Pointer to the fault within the arguments.
    pub path: String,
    /// The keyword of the schema, or the name of the validator.
    pub keyword: Cow<'static, str>,
    /// The fault, in words.
    pub reason: String,
    /// The ways to mend it.
    pub suggestions: Vec<String>,
    /// The value that was sent, if it is a single one and no secret, cut to a bounded length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provided_value: Option<String>,
}

impl Violation {
    /// Creates the fault of the part of the arguments that a JSON Pointer names, like `/ticker_symbol`.
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        let path = path.into();
        let field = path.strip_prefix('/').map(|rest| unescape(rest.split('/').next().unwrap_or(rest)));
        Self {
            error_type: "FieldValidation",
            field,
            path,
            keyword: "custom".into(),
            reason: reason.into(),
            suggestions: Vec::new(),
            provided_value: None,
        }
    }

    mgp_types::setters! { self =>
        /// Adds a way to mend the fault.
        pub fn suggest(suggestion: impl Into<String>) => self.suggestions.push(suggestion.into());

        /// Returns the fault as found by the validator of this name.
        pub fn found_by(validator: &str) => self.keyword = validator.to_owned().into();
    }

    /// Returns the fault of all arguments together, as `explain` calls it.
    fn of_all(keyword: &'static str) -> Self {
        let (reason, suggestions) = explain(keyword, &Value::Null, None, &Value::Null);
        Self { keyword: keyword.into(), suggestions, ..Self::new("", reason) }
    }

    /// Returns the faults of arguments that do not meet a demand of their schema: one for each member that is missing, or
    /// that the schema does not know.
    fn of_error(schema: &Value, arguments: &Value, error: &ValidationError<'_>) -> Vec<Self> {
        let (place, keyword) = (error.instance_path().as_str(), error.kind().keyword());
        match error.kind() {
            ValidationErrorKind::Required { property: Value::String(name) } => {
                return vec![Self::of_member(place, keyword, name)];
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                return unexpected.iter().map(|name| Self::of_member(place, keyword, name)).collect();
            }
            _ => {}
        }
        let schema_place = error.schema_path().as_str();
        let expected = schema.pointer(schema_place).unwrap_or(&Value::Null);
        let got = arguments.pointer(place).unwrap_or(&Value::Null);
        let owner = schema_place.rsplit_once('/').and_then(|(owner, _)| schema.pointer(owner));
        let (reason, suggestions) = explain(keyword, expected, owner, got);
        let shown = if is_public(schema, place) { quoted(got) } else { None };
        let reason = match &shown {
            // Lengths and types have named what matters of the value.
            Some(shown) if !matches!(keyword, "minLength" | "maxLength" | "type") => {
                format!("{reason}, got {shown}")
            }
            _ => reason,
        };
        let provided_value = shown.map(|shown| shown.trim_matches('\'').to_owned());
        vec![Self { suggestions, provided_value, ..Self::new(place, reason).found_by(keyword) }]
    }

    fn of_member(place: &str, keyword: &str, member: &str) -> Self {
        let path = format!("{place}/{}", member.replace('~', "~0").replace('/', "~1"));
        let shown = bounded(member);
        let (fault, remedy) = match keyword {
            "required" => ("Missing field: expected", "Add"),
            _ => ("Unknown field:", "Leave out"),
        };
        Self::new(path, format!("{fault} {shown}"))
            .suggest(format!("{remedy} the field `{shown}`"))
            .found_by(keyword)
    }

    /// Returns the place of the fault among the faults of one call: the likeliest cause of others comes first.
    fn rank(&self) -> u8 {
        match &*self.keyword {
            "required" => 0,
            "type" => 1,
            "enum" | "const" => 2,
            "pattern" => 3,
            _ => 4,
        }
    }
}

/// Returns the fault and the ways to mend it; `owner` is the schema that makes the demand.
fn explain(keyword: &str, expected: &Value, owner: Option<&Value>, got: &Value) -> (String, Vec<String>) {
    let shown = shown(expected);
    let bound = if keyword.starts_with("min") { "at least" } else { "at most" };
    let characters = || got.as_str().map_or(0, |text| text.chars().count());
    let limit = |keyword: &str| owner.and_then(|owner| owner.get(keyword));
    let size =
        |keyword: &str| limit(keyword).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
    let lengths = || pattern::length(size("minLength"), size("maxLength")).into_iter().collect();
    let range = || match (limit("minimum"), limit("maximum")) {
        (Some(least), Some(largest)) => format!("Use a number from {least} to {largest}"),
        (Some(least), None) => format!("Use a number of at least {least}"),
        (None, Some(largest)) => format!("Use a number of at most {largest}"),
        (None, None) => "Use another number".into(),
    };
    match keyword {
        "pattern" => (
            format!("Pattern mismatch: expected {shown}"),
            pattern::suggestions(expected.as_str().unwrap_or_default()),
        ),
        "minLength" | "maxLength" => {
            (format!("Length mismatch: expected {bound} {shown} characters, got {}", characters()), lengths())
        }
        "minimum" | "maximum" => (format!("Range mismatch: expected {bound} {shown}"), vec![range()]),
        "enum" | "const" => {
            let choices = if keyword == "enum" { choices(expected) } else { shown.into_owned() };
            (format!("Value mismatch: expected one of {choices}"), vec![format!("Use one of {choices}")])
        }
        "type" => {
            let reason = format!("Type mismatch: expected {shown}, got {}", type_name(got));
            (reason, vec![format!("Use a value of the type {shown}")])
        }
        "format" => (format!("Format mismatch: expected {shown}"), Vec::new()),
        "anyOf" | "oneOf" => ("No alternative fits".into(), alternatives(expected)),
        "not" | "falseSchema" => ("Forbidden value".into(), Vec::new()),
        "schema" => ("The arguments do not fit the schema of the tool".into(), Vec::new()),
        "cost" => (
            "It would take too long to check the arguments".into(),
            vec!["Send less, or less deeply nested".into()],
        ),
        _ => (format!("Constraint mismatch: {keyword} {shown}"), Vec::new()),
    }
}

/// Returns the ways to meet each of several schemas.
fn alternatives(schemas: &Value) -> Vec<String> {
    let schemas = schemas.as_array().into_iter().flatten().take(MAX_CHOICES);
    let ways = schemas.flat_map(|schema| {
        let demands = schema.as_object().into_iter().flatten();
        demands.flat_map(move |(keyword, expected)| explain(keyword, expected, Some(schema), &Value::Null).1)
    });
    let ways: BTreeSet<_> = ways.filter(|way| !way.is_empty()).collect();
    ways.into_iter().take(MAX_CHOICES).collect()
}

fn choices(values: &Value) -> String {
    let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<_> = values.iter().take(MAX_CHOICES).map(shown).collect();
    let rest = if values.len() > shown.len() { ", …" } else { "" };
    format!("{}{rest}", shown.join(", "))
}

/// Returns a part of the schema for people: a text without its quotes.
fn shown(value: &Value) -> Cow<'_, str> {
    match value {
        // A pattern is shown whole, within reason: half of one is no help.
        Value::String(text) if text.len() <= 1024 => Cow::Borrowed(text),
        Value::String(text) => bounded(text).into(),
        other => bounded(&other.to_string()).into(),
    }
}

/// Returns the value that was sent, if it is a single one.
fn quoted(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(bounded(&value.to_string())),
        Value::String(text) => Some(format!("'{}'", bounded(text))),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the beginning of a text that a caller sent, without control characters.
fn bounded(text: &str) -> String {
    let mut bounded: String =
        text.chars().take(MAX_QUOTED).map(|one| if one.is_control() { '\u{fffd}' } else { one }).collect();
    if text.chars().nth(MAX_QUOTED).is_some() {
        bounded.push('…');
    }
    bounded
}

const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns whether the schema lets everybody see the value at a place: its path leads through properties and items
/// only, and nothing there is marked as a secret. A place that cannot be followed counts as one of a secret.
fn is_public(schema: &Value, place: &str) -> bool {
    let adds_schemas = |keyword: &String| {
        keyword.starts_with('$') && keyword.ends_with("ef") || COMBINING.contains(&keyword.as_str())
    };
    let mut at = schema;
    for name in place.split('/').skip(1) {
        let is_plain = at.as_object().is_some_and(|members| !members.keys().any(adds_schemas));
        let next = at.get("properties").and_then(|properties| properties.get(unescape(name)));
        let items = || at.get("items").filter(|_| name.bytes().all(|byte| byte.is_ascii_digit()));
        match next.or_else(items) {
            Some(next) if is_plain => at = next,
            _ => return false,
        }
    }
    !place.is_empty() && !tells_of_secret(at)
}

fn tells_of_secret(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(keyword, value)| match keyword.as_str() {
            "writeOnly" => value != &Value::Bool(false),
            "format" => value == "password",
            "$ref" | "$dynamicRef" => true,
            "enum" | "const" | "default" | "examples" => false,
            _ => tells_of_secret(value),
        }),
        Value::Array(values) => values.iter().any(tells_of_secret),
        _ => false,
    }
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The keywords that apply further schemas to a value.
const COMBINING: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas", "patternProperties"];

/// The largest number of characters that are quoted of a value.
const MAX_QUOTED: usize = 64;

/// The largest number of faults that are reported at once.
const MAX_VIOLATIONS: usize = 100;

/// The largest number of choices that are named.
const MAX_CHOICES: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doubles::cases;

    fn read(json: &str) -> Value {
        serde_json::from_str(json).unwrap()
    }

    fn violations(schema: &Value, arguments: &Value) -> Vec<Violation> {
        ArgumentJudge::compile_linear(&RawJson::from_value(schema).unwrap()).unwrap().violations(arguments)
    }

    fn of_field(field: &Value, value: &Value) -> Violation {
        let mut violations = violations(&json!({"properties": {"x": field}}), &json!({"x": value}));
        assert_eq!(violations.len(), 1, "{violations:?}");
        violations.remove(0)
    }

    #[test]
    fn each_demand_has_its_words() {
        for (field, row) in cases(include_str!("demands.txt")) {
            let [value, reason, suggestion] = row.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            let violation = of_field(&read(field), &read(value));
            assert_eq!((&*violation.reason, &*violation.suggestions[0]), (reason, suggestion));
            assert_eq!((violation.field.as_deref(), &*violation.path), (Some("x"), "/x"));
        }
        assert_eq!(of_field(&json!({"not": {"const": "a"}}), &json!("a")).reason, "Forbidden value, got 'a'");
        let missing = violations(&json!({"required": ["a/b"]}), &json!({})).remove(0);
        assert_eq!((missing.field.as_deref(), &*missing.path), (Some("a/b"), "/a~1b"));
        assert_eq!(missing.reason, "Missing field: expected a/b");
        let unknown = violations(
            &json!({"properties": {"x": true}, "additionalProperties": false}),
            &json!({"a": 1, "b": 2}),
        );
        assert_eq!(unknown.iter().map(|one| &*one.path).collect::<Vec<_>>(), ["/a", "/b"]);
    }

    #[test]
    fn a_value_is_quoted_in_part_and_never_a_secret() {
        let long = of_field(&json!({"pattern": "^x"}), &json!("y\n".repeat(100)));
        assert_eq!(long.reason, format!("Pattern mismatch: expected ^x, got '{}…'", "y\u{fffd}".repeat(32)));
        for (schema, arguments) in cases(include_str!("secrets.txt")) {
            let violations = violations(&read(schema), &read(&arguments));
            let written = serde_json::to_string(&violations).unwrap();
            assert!(!violations.is_empty() && !written.contains("hush"), "{written}");
        }
    }

    #[test]
    fn every_fault_is_named_by_its_place() {
        let schema = json!({"type": "object", "required": ["a", "b"], "additionalProperties": false, "properties": {
            "a": {"type": "string", "if": {"minLength": 2}, "then": {"pattern": "^x"}, "allOf": [{"maxLength": 3}]},
            "b": true,
        }});
        let judge = ArgumentJudge::compile_linear(&RawJson::from_value(&schema).unwrap()).unwrap();
        assert!(judge.violations(&json!({"a": "xy", "b": 1})).is_empty());
        let found = judge.violations(&json!({"a": "yyyy", "c": 1}));
        let mut places: Vec<_> = found.iter().map(|fault| (&*fault.path, &*fault.keyword)).collect();
        places.sort_unstable();
        let expected =
            [("/a", "maxLength"), ("/a", "pattern"), ("/b", "required"), ("/c", "additionalProperties")];
        assert_eq!(places, expected);
    }
}
