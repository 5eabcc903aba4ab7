//! The check of arguments: by reading them into a type, or by a validator where that is not enough.

use mgp_types::RawJson;
use serde_json::{Map, Value};

/// The validator of arguments against a schema, where reading them into a type does not check enough.
///
/// The validator never fetches anything: a reference that leads out of the schema is a fault of the schema.
#[cfg(feature = "validate")]
pub(crate) type Validator = mgp_security::Schema;

/// The validator does not exist without the feature `validate`.
#[cfg(not(feature = "validate"))]
#[derive(Debug)]
pub(crate) enum Validator {}

/// Compiles `schema`; the error is for the author of the schema.
#[cfg(feature = "validate")]
pub(crate) fn compile(schema: &RawJson) -> Result<Validator, String> {
    Validator::compile_with_formats(schema).map_err(|fault| fault.to_string())
}

/// Refuses the schema: its demands would not be checked, and silence about that would be a hole.
#[cfg(not(feature = "validate"))]
pub(crate) fn compile(_: &RawJson) -> Result<Validator, String> {
    Err("the schema demands more than reading the arguments checks: turn on the feature `validate`, or check \
         in the handler and say so with `Tool::unvalidated`"
        .into())
}

#[cfg(not(feature = "validate"))]
impl Validator {
    pub(crate) fn check(&self, _: &[u8]) -> Result<(), String> {
        match *self {}
    }
}

#[cfg(test)]
#[cfg(not(feature = "validate"))]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_would_not_be_checked_is_refused() {
        assert!(compile(&RawJson::empty_object()).unwrap_err().contains("validate"));
    }
}

/// Returns whether reading a value into the type that its schema was made from checks all demands of the schema.
///
/// Only known demands count as checked; any other one needs a validator.
pub(crate) fn is_checked_by_parsing(schema: &Value) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(members) => members.iter().all(|(keyword, value)| is_checked(keyword, value, members)),
        _ => false,
    }
}

fn is_checked(keyword: &str, value: &Value, members: &Map<String, Value>) -> bool {
    match keyword {
        // These members demand nothing, or name the type.
        "title" | "description" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly"
        | "$comment" | "x-mcp-header" | "type" | "required" | "const" | "enum" | "$ref" => true,
        "properties" | "$defs" => {
            value.as_object().is_some_and(|inner| inner.values().all(is_checked_by_parsing))
        }
        "items" => is_checked_by_parsing(value),
        "prefixItems" | "anyOf" | "oneOf" => {
            value.as_array().is_some_and(|inner| inner.iter().all(is_checked_by_parsing))
        }
        // A map's values are of its type; a closed object is a promise that serde may not keep.
        "additionalProperties" => value.is_object() && is_checked_by_parsing(value),
        "format" => value.as_str().is_some_and(|format| range_of(format).is_some()),
        "minimum" => of_format(members).is_some_and(|(least, _)| value.as_f64() == Some(least)),
        "maximum" => of_format(members).is_some_and(|(_, greatest)| value.as_f64() == Some(greatest)),
        _ => false,
    }
}

fn of_format(members: &Map<String, Value>) -> Option<(f64, f64)> {
    range_of(members.get("format")?.as_str()?)
}

/// Returns the range of a number type, by the format that stands for it.
fn range_of(format: &str) -> Option<(f64, f64)> {
    Some(match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "uint8" => (0.0, u8::MAX.into()),
        "uint16" => (0.0, u16::MAX.into()),
        "uint32" => (0.0, u32::MAX.into()),
        "uint" | "uint64" | "uint128" => (0.0, f64::INFINITY),
        "int" | "int64" | "int128" | "float" | "double" => (f64::NEG_INFINITY, f64::INFINITY),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;

    use super::*;
    use crate::schema::read_by;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Plain {
        text: String,
        number: u8,
        big: u64,
        list: Vec<Option<i32>>,
        choice: Choice,
        inner: Option<Inner>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    enum Choice {
        /// One.
        One,
        Two,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Inner {
        float: f64,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Bounded {
        #[schemars(range(min = 1))]
        number: u8,
    }

    #[test]
    fn derived_schemas_are_checked_by_parsing() {
        assert!(is_checked_by_parsing(&read_by::<Plain>().to_value()));
    }

    #[test]
    fn demands_beyond_the_type_are_not() {
        assert!(!is_checked_by_parsing(&read_by::<Bounded>().to_value()));
        for schema in [
            serde_json::json!({"type": "string", "pattern": "^a"}),
            serde_json::json!({"type": "object", "additionalProperties": false}),
            serde_json::json!({"type": "string", "format": "email"}),
            serde_json::json!({"properties": {"a": {"minLength": 1}}}),
        ] {
            assert!(!is_checked_by_parsing(&schema), "{schema}");
        }
    }
}
