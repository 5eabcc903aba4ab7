//! JSON Schemas: made from types, read for their demands, and checked against.

mod form;
mod header;
mod validate;

use mgp_types::RawJson;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use self::form::form_of;
#[cfg(feature = "http")]
pub(crate) use self::header::check_headers;
#[cfg(feature = "http")]
pub use self::header::check_repeated_arguments;
pub(crate) use self::validate::{Validator, compile, is_checked_by_parsing};

/// Returns the schema of the values that `T` is read from.
pub(crate) fn read_by<T: JsonSchema>() -> Schema {
    let schema =
        SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>();
    without_noise(schema, &T::schema_name())
}

/// Returns the schema of the values that `T` is written as.
pub(crate) fn written_by<T: JsonSchema>() -> Schema {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    without_noise(schema, &T::schema_name())
}

/// Removes members that tell a client nothing: the default dialect, and the name of a Rust type.
fn without_noise(mut schema: Schema, name: &str) -> Schema {
    schema.remove("$schema");
    if schema.get("title").and_then(Value::as_str) == Some(name) {
        schema.remove("title");
    }
    schema
}

/// Returns the schema as that of a tool's arguments: an object that lists its properties, even if it has none.
pub(crate) fn of_arguments(schema: Schema) -> Result<Value, String> {
    let Value::Object(mut members) = schema.to_value() else {
        return Ok(no_arguments());
    };
    match members.get("type") {
        None => _ = members.insert("type".into(), "object".into()),
        Some(Value::String(kind)) if kind == "object" => {}
        Some(other) => return Err(format!("the arguments must be an object, their schema says {other}")),
    }
    let properties = members.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    header::without_null(properties);
    Ok(Value::Object(members))
}

/// Returns a value of this crate as JSON.
pub(crate) fn to_raw<T: Serialize>(value: &T) -> RawJson {
    RawJson::from_value(value).unwrap_or_else(|_| RawJson::empty_object())
}

/// Returns the schema of no arguments at all.
pub(crate) fn no_arguments() -> Value {
    serde_json::json!({ "type": "object", "properties": {}, "additionalProperties": false })
}
