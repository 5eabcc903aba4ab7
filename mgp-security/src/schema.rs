//! JSON Schema validation of tool arguments, without fetching.

mod convert;
mod cost;
#[cfg(feature = "ext")]
mod pattern_advice;
#[cfg(feature = "ext")]
mod violation;

use std::fmt::Write as _;

use jsonschema::PatternOptions;
use mgp_types::RawJson;
use serde_json::Value;

use self::cost::CheckCost;
#[cfg(feature = "ext")]
pub use self::violation::{ArgumentJudge, Violation};

/// A compiled JSON Schema that checks the arguments of a tool.
///
/// A schema never fetches anything: a reference that leads out of the schema makes the schema invalid.
#[derive(Debug)]
pub struct Schema {
    compiled: jsonschema::Validator,
    cost: CheckCost,
}

/// The error that a schema is unusable, so that no arguments can be checked against it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema cannot be used: {0}")]
pub struct SchemaFault(String);

/// A description of what is wrong with arguments, in words that contain none of their values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaViolation(String);

impl Schema {
    /// Compiles a schema by the draft that it names; without one, by 2020-12, or else by draft 7.
    ///
    /// # Errors
    /// Fails if the schema is too long, refers to something outside of itself, or is not a schema.
    pub fn compile(schema: &RawJson) -> Result<Self, SchemaFault> {
        Self::build(schema, false, false)
    }

    /// Compiles a schema by the draft that it names, and enforces `format`, which is otherwise only an annotation.
    ///
    /// # Errors
    /// Fails as [`compile`](Self::compile) does.
    pub fn compile_with_formats(schema: &RawJson) -> Result<Self, SchemaFault> {
        Self::build(schema, true, false)
    }

    /// Returns whether no arguments could be checked against `schema` in time, because its references unfold too far.
    #[cfg(feature = "validate")]
    pub(crate) fn unfolds_too_far(schema: &RawJson) -> bool {
        let measured = Self::read_schema(schema).and_then(|schema| CheckCost::of(&schema));
        measured.is_err_and(|SchemaFault(fault)| fault == cost::TOO_LARGE)
    }

    fn read_schema(schema: &RawJson) -> Result<Value, SchemaFault> {
        if schema.as_bytes().len() > MAX_SCHEMA_BYTES {
            return Err(SchemaFault(format!("it is longer than {MAX_SCHEMA_BYTES} bytes")));
        }
        schema.to().map_err(|error| SchemaFault(error.to_string()))
    }

    fn build(schema: &RawJson, formats: bool, is_linear: bool) -> Result<Self, SchemaFault> {
        let schema = Self::read_schema(schema)?;
        let cost = CheckCost::of(&schema)?;
        let options = || {
            let options = jsonschema::options().offline().should_validate_formats(formats);
            if is_linear {
                options.with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
            } else {
                options.with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS))
            }
        };
        let compiled = options().build(&schema).or_else(|error| match schema.get("$schema") {
            Some(_) => Err(error),
            // MCP reads a schema that names no draft as 2020-12. A schema that is invalid there was written for an
            // older draft, with a list of `items` for instance, and its rules still have to be enforced.
            None => options().with_draft(jsonschema::Draft::Draft7).build(&schema).map_err(|_| error),
        });
        let compiled = compiled.map_err(|error| SchemaFault(error.to_string()))?;
        Ok(Self { compiled, cost })
    }

    /// Returns whether the faults of `value` can be looked for one by one: that takes more than finding out that there are
    /// any.
    fn explains(&self, value: &Value) -> bool {
        self.cost.steps(value, MAX_EXPLAINED_STEPS).is_some()
    }

    /// Checks a value in JSON against the schema.
    ///
    /// # Errors
    /// Fails with what is wrong with the value, and where.
    pub fn check(&self, value: &[u8]) -> Result<(), SchemaViolation> {
        self.check_value(&Self::read(value)?)
    }

    /// Reads a value for [`check_value`](Self::check_value).
    pub(crate) fn read(value: &[u8]) -> Result<Value, SchemaViolation> {
        serde_json::from_slice(value).map_err(|error| SchemaViolation(format!("invalid arguments: {error}")))
    }

    /// Checks a value against the schema.
    pub(crate) fn check_value(&self, value: &Value) -> Result<(), SchemaViolation> {
        if !self.cost.is_bearable(value) {
            return Err(SchemaViolation(TOO_COSTLY.to_owned()));
        }
        if self.compiled.is_valid(value) {
            return Ok(());
        }
        if !self.explains(value) {
            return Err(SchemaViolation(
                "invalid arguments: they do not fit the schema of the tool".to_owned(),
            ));
        }
        let mut text = String::from("invalid arguments");
        for (index, error) in self.compiled.iter_errors(value).take(MAX_ERRORS).enumerate() {
            let path = error.instance_path().as_str();
            let _ = match (index, path.is_empty()) {
                (0, true) => write!(text, ": {}", error.masked()),
                (0, false) => write!(text, " at `{path}`: {}", error.masked()),
                (_, true) => write!(text, "; {}", error.masked()),
                (_, false) => write!(text, "; at `{path}`: {}", error.masked()),
            };
        }
        let given = value.as_object().into_iter().flat_map(serde_json::Map::keys);
        let names = names(&self.cost.schema);
        let unknown = given.filter(|name| !names.is_empty() && !names.contains(name));
        for name in unknown.filter(|name| name.len() <= MAX_NAME_BYTES).take(MAX_ERRORS) {
            let _ = match names.iter().find(|known| is_like(name, known)) {
                Some(known) => write!(text, "; `{name}` is not an argument: did you mean `{known}`?"),
                None => write!(text, "; `{name}` is not an argument"),
            };
        }
        Err(SchemaViolation(text))
    }
}

/// The largest number of steps of a check whose faults are told one by one.
const MAX_EXPLAINED_STEPS: u64 = 20_000;

const TOO_COSTLY: &str = "invalid arguments: it would take too long to check them against the schema of the tool; send less, or less deeply nested";

/// The largest length of a schema, in bytes.
const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// The largest size of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Returns the names of the arguments that a schema describes.
fn names(schema: &Value) -> Vec<&String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(serde_json::Map::keys).collect()
}

/// Returns whether one name is probably meant by the other one: most of it is the beginning or the end of the other.
fn is_like(written: &str, known: &str) -> bool {
    let (written, known) = (written.as_bytes(), known.as_bytes());
    let same = |(one, other): &(&u8, &u8)| one.eq_ignore_ascii_case(other);
    let begin = written.iter().zip(known).take_while(same).count();
    let end = written[begin..].iter().rev().zip(known[begin..].iter().rev()).take_while(same).count();
    (begin + end) * 2 > written.len().max(known.len())
}

/// The longest name of an unknown argument that is repeated.
const MAX_NAME_BYTES: usize = 64;

/// The largest number of faults that are named at once.
const MAX_ERRORS: usize = 4;

/// The largest number of steps that a regular expression may backtrack in one text.
const MAX_BACKTRACKS: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(json: &str) -> Result<Schema, SchemaFault> {
        Schema::compile(&RawJson::parse(json.to_owned()).unwrap())
    }

    #[test]
    fn a_violation_names_the_place_and_not_the_value() {
        let schema = schema(r#"{"properties":{"n":{"type":"integer","maximum":3}}}"#).unwrap();
        assert!(schema.check(br#"{"n":2}"#).is_ok());
        let violation = schema.check(br#"{"n":"my secret"}"#).unwrap_err().to_string();
        assert!(violation.contains("`/n`") && !violation.contains("secret"), "{violation}");
    }

    #[test]
    fn several_violations_are_told_apart() {
        let schema = schema(r#"{"required":["a","b"],"properties":{"n":{"type":"integer"}}}"#).unwrap();
        assert_eq!(
            schema.check(br#"{"n":"x"}"#).unwrap_err().to_string(),
            "invalid arguments: \"a\" is a required property; \"b\" is a required property; at `/n`: value is not of type \
             \"integer\""
        );
    }

    #[test]
    fn a_violation_names_the_demand() {
        let schema =
            schema(r#"{"type":"object","properties":{"n":{"type":"integer","minimum":3}}}"#).unwrap();
        assert_eq!(schema.check(br#"{"n":4}"#), Ok(()));
        let violation = schema.check(br#"{"n":2}"#).unwrap_err().to_string();
        assert_eq!(violation, "invalid arguments at `/n`: value is less than the minimum of 3");
    }

    #[test]
    fn a_violation_names_the_unknown_argument_and_the_one_that_is_meant() {
        let schema = schema(r#"{"properties":{"path":{},"head":{}},"required":["path"]}"#).unwrap();
        for (arguments, expected) in [
            (r#"{"pth":"a"}"#, "; `pth` is not an argument: did you mean `path`?"),
            (r#"{"file_path":"a"}"#, "`path` is a required property"),
            (
                r#"{"File":1,"HEAD":2}"#,
                "; `File` is not an argument; `HEAD` is not an argument: did you mean `head`?",
            ),
        ] {
            let message = schema.check(arguments.as_bytes()).unwrap_err().to_string().replace('"', "`");
            assert!(message.contains(expected), "{arguments}: {message}");
        }
    }

    #[test]
    fn a_check_that_would_take_too_long_is_refused_at_once() {
        let filter = r##"{"properties":{"filter":{"$ref":"#/$defs/f"}},"$defs":{
            "f":{"properties":{"not":{"anyOf":[{"$ref":"#/$defs/f"},{"$ref":"#/$defs/g"}]}},"required":["op"]},
            "g":{"properties":{"not":{"anyOf":[{"$ref":"#/$defs/f"},{"$ref":"#/$defs/g"}]}},"required":["name"]}}}"##;
        let schema = schema(filter).unwrap();
        let nested =
            |depth| (0..depth).fold(r#"{"op":"x"}"#.to_owned(), |inner, _| format!(r#"{{"not":{inner}}}"#));
        let violation = |depth| {
            schema.check(format!(r#"{{"filter":{}}}"#, nested(depth)).as_bytes()).unwrap_err().to_string()
        };
        assert!(violation(2).contains("required property"), "{}", violation(2));
        for depth in [26, 60, 100] {
            assert!(violation(depth).contains("too long"), "{}", violation(depth));
        }
    }

    #[test]
    fn a_format_is_a_note_or_a_demand() {
        let json = RawJson::parse(r#"{"format":"ipv4"}"#).unwrap();
        assert!(Schema::compile(&json).unwrap().check(br#""nowhere""#).is_ok());
        assert!(Schema::compile_with_formats(&json).unwrap().check(br#""nowhere""#).is_err());
    }

    #[test]
    fn a_schema_of_an_older_draft_is_read_by_its_rules() {
        let tuple = schema(r#"{"items":[{"type":"integer"},{"type":"string"}]}"#).unwrap();
        assert!(tuple.check(br#"[1,"a"]"#).is_ok());
        assert!(tuple.check(br#"["a",1]"#).is_err());
        let named =
            r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{"type":"integer"}]}"#;
        assert!(schema(named).is_err());
    }

    #[test]
    fn a_broken_schema_is_refused() {
        assert!(schema(r#"{"type":"no such type"}"#).is_err());
        assert!(schema(r#"{"$schema":"https://example.com/dialect"}"#).is_err());
    }

    #[test]
    fn nothing_is_ever_fetched() {
        for reference in ["http://127.0.0.1:9/schema.json", "https://example.com/s", "file:///etc/passwd"] {
            assert!(schema(&format!(r#"{{"$ref":"{reference}"}}"#)).is_err(), "{reference}");
        }
        assert!(
            schema(r##"{"$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}}}"##).is_ok()
        );
    }
}
