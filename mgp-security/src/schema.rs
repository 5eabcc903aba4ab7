mod convert;

use std::fmt::Write as _;

use mgp_types::RawJson;

/// Checks arguments against the schema of a tool.
///
/// It never fetches anything: a reference that leads out of the schema is a fault of the schema.
#[derive(Debug)]
pub struct Schema {
    compiled: jsonschema::Validator,
}

/// A schema that cannot be used: no arguments can be checked against it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema cannot be used: {0}")]
pub struct SchemaFault(String);

/// What is wrong with arguments, in words that hold none of their values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaViolation(String);

impl Schema {
    /// Compiles a schema of the draft that it names, or else of 2020-12, or else of draft 7.
    ///
    /// # Errors
    /// It is too long, refers to something outside, or is no schema.
    pub fn compile(schema: &RawJson) -> Result<Self, SchemaFault> {
        Self::build(schema, false)
    }

    /// The same, with `format` as a demand and not only a note.
    ///
    /// # Errors
    /// As of [`compile`](Self::compile).
    pub fn compile_with_formats(schema: &RawJson) -> Result<Self, SchemaFault> {
        Self::build(schema, true)
    }

    fn build(schema: &RawJson, formats: bool) -> Result<Self, SchemaFault> {
        if schema.as_bytes().len() > MAX_SCHEMA_BYTES {
            return Err(SchemaFault(format!("it is longer than {MAX_SCHEMA_BYTES} bytes")));
        }
        let schema: serde_json::Value = schema.to().map_err(|error| SchemaFault(error.to_string()))?;
        let options = || {
            let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
            jsonschema::options().offline().with_pattern_options(patterns).should_validate_formats(formats)
        };
        let compiled = options().build(&schema).or_else(|error| match schema.get("$schema") {
            Some(_) => Err(error),
            // MCP reads a schema that names no draft as 2020-12. One that cannot be that was written for an older one,
            // with a list of `items` for instance, and by its rules it is still a demand.
            None => options().with_draft(jsonschema::Draft::Draft7).build(&schema).map_err(|_| error),
        });
        compiled.map(|compiled| Self { compiled }).map_err(|error| SchemaFault(error.to_string()))
    }

    /// Checks a value in JSON.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn check(&self, value: &[u8]) -> Result<(), SchemaViolation> {
        let value = serde_json::from_slice(value)
            .map_err(|error| SchemaViolation(format!("invalid arguments: {error}")))?;
        if self.compiled.is_valid(&value) {
            return Ok(());
        }
        let mut text = String::from("invalid arguments");
        for (index, error) in self.compiled.iter_errors(&value).take(MAX_ERRORS).enumerate() {
            text.push_str(if index == 0 { "" } else { ";" });
            let path = error.instance_path().as_str();
            if !path.is_empty() {
                let _ = write!(text, " at `{path}`");
            }
            let _ = write!(text, ": {}", error.masked());
        }
        Err(SchemaViolation(text))
    }
}

const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// How many faults are named at once.
const MAX_ERRORS: usize = 4;

/// How far a pattern may go back on its way through a text.
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
    fn a_violation_names_the_demand() {
        let schema =
            schema(r#"{"type":"object","properties":{"n":{"type":"integer","minimum":3}}}"#).unwrap();
        assert_eq!(schema.check(br#"{"n":4}"#), Ok(()));
        let violation = schema.check(br#"{"n":2}"#).unwrap_err().to_string();
        assert_eq!(violation, "invalid arguments at `/n`: value is less than the minimum of 3");
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
