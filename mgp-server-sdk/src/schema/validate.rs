#[cfg(feature = "validate")]
use std::fmt::Write as _;

use mgp_types::RawJson;

/// Checks arguments against a schema, where reading them into a type does not.
///
/// It never fetches anything: a reference that leads out of the schema is a fault of the schema.
#[cfg(feature = "validate")]
#[derive(Debug)]
pub(crate) struct Validator {
    compiled: jsonschema::Validator,
}

/// There is none without the feature `validate`.
#[cfg(not(feature = "validate"))]
#[derive(Debug)]
pub(crate) enum Validator {}

#[cfg(feature = "validate")]
impl Validator {
    /// Compiles `schema`; the reason it cannot be is for whoever wrote it.
    pub(crate) fn compile(schema: &RawJson) -> Result<Self, String> {
        if schema.as_bytes().len() > MAX_SCHEMA_BYTES {
            return Err(format!("the schema is longer than {MAX_SCHEMA_BYTES} bytes"));
        }
        let schema = schema.to().map_err(|error| format!("the schema is not JSON: {error}"))?;
        let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
        let compiled = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .should_validate_formats(true)
            .build(&schema)
            .map_err(|error| format!("the schema cannot be used: {error}"))?;
        Ok(Self { compiled })
    }

    /// What is wrong with `arguments`, if anything.
    pub(crate) fn check(&self, arguments: &[u8]) -> Result<(), String> {
        let arguments =
            serde_json::from_slice(arguments).map_err(|error| format!("invalid arguments: {error}"))?;
        let mut errors = self.compiled.iter_errors(&arguments).take(MAX_ERRORS).peekable();
        if errors.peek().is_none() {
            return Ok(());
        }
        let mut text = String::from("invalid arguments");
        for (index, error) in errors.enumerate() {
            text.push_str(if index == 0 { "" } else { ";" });
            let path = error.instance_path().as_str();
            if !path.is_empty() {
                let _ = write!(text, " at `{path}`");
            }
            // The values stay out of it: they can be as long as the arguments.
            let _ = write!(text, ": {}", error.masked());
        }
        Err(text)
    }
}

#[cfg(not(feature = "validate"))]
impl Validator {
    /// What the schema demands would not be checked, and silence about that would be a hole.
    pub(crate) fn compile(_: &RawJson) -> Result<Self, String> {
        Err("the schema demands more than reading the arguments checks: turn on the feature `validate`, or check \
             in the handler and say so with `Tool::unvalidated`"
            .into())
    }

    pub(crate) fn check(&self, _: &[u8]) -> Result<(), String> {
        match *self {}
    }
}

#[cfg(feature = "validate")]
const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// How many faults are named at once.
#[cfg(feature = "validate")]
const MAX_ERRORS: usize = 4;

/// How often matching one pattern may go back.
#[cfg(feature = "validate")]
const MAX_BACKTRACKS: usize = 100_000;

#[cfg(test)]
#[cfg(feature = "validate")]
mod tests {
    use super::*;

    fn compile(schema: &'static str) -> Result<Validator, String> {
        Validator::compile(&RawJson::parse(schema).unwrap())
    }

    #[test]
    fn a_fault_names_the_path_and_the_demand() {
        let validator =
            compile(r#"{"type":"object","properties":{"n":{"type":"integer","minimum":3}}}"#).unwrap();
        assert_eq!(validator.check(br#"{"n":4}"#), Ok(()));
        assert_eq!(
            validator.check(br#"{"n":2}"#).unwrap_err(),
            "invalid arguments at `/n`: value is less than the minimum of 3"
        );
    }

    #[test]
    fn a_reference_over_the_network_is_refused() {
        assert!(compile(r#"{"$ref":"https://example.com/schema.json"}"#).is_err());
        assert!(
            compile(r##"{"$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}}}"##).is_ok()
        );
    }

    #[test]
    fn a_broken_schema_is_refused() {
        assert!(compile(r#"{"type":"no such type"}"#).is_err());
        assert!(compile(r#"{"$schema":"https://example.com/dialect"}"#).is_err());
    }
}

#[cfg(test)]
#[cfg(not(feature = "validate"))]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_would_not_be_checked_is_refused() {
        assert!(Validator::compile(&RawJson::empty_object()).unwrap_err().contains("validate"));
    }
}
