//! JSON Schemas: made from types, read for their demands, and checked against.

mod validate;

#[cfg(feature = "http")]
use mgp_transport::http::header;
use mgp_types::mcp::FormSchema;
#[cfg(feature = "http")]
use mgp_types::mcp::MirroredArgument;
#[cfg(feature = "http")]
use mgp_types::mgp::UnlistedCall;
use mgp_types::{Error, RawJson};
#[cfg(feature = "http")]
use mgp_types::{Params, Request};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

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
    without_null(properties);
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

const KEYWORD: &str = "x-mcp-header";

/// Checks that the headers of a request over HTTP agree with the arguments that they repeat. The headers of an
/// [`UnlistedCall`] repeat none: its client need not know what the tool wants.
///
/// # Errors
/// -32020 if a header is missing, malformed, or contradicts its argument.
#[cfg(feature = "http")]
pub(crate) fn check_headers(mirrored: &[MirroredArgument], request: &Request) -> Result<(), Error> {
    let parts = request.extensions.get::<http::request::Parts>();
    match parts.filter(|_| request.extensions.get::<UnlistedCall>().is_none()) {
        Some(parts) => mirrored.iter().try_for_each(|param| check(param, &request.params, &parts.headers)),
        None => Ok(()),
    }
}

/// Checks that the headers of an HTTP request agree with the arguments that a tool wants repeated in them, for gateways
/// that pass calls on. `schema` is that of the tool's arguments; a schema that asks for headers in a forbidden way asks
/// for none. Requests of other transports, of sessions, and by `mgp.tools.call` have no such headers.
///
/// # Errors
/// -32020 if a header is missing, malformed, or contradicts its argument.
#[cfg(feature = "http")]
pub fn check_repeated_arguments(schema: &RawJson, request: &Request) -> Result<(), Error> {
    let is_stateless =
        request.context.session.as_ref().is_some_and(|session| session.describes_each_request());
    if !is_stateless
        || request.extensions.get::<http::request::Parts>().is_none()
        || memchr::memmem::find(schema.as_bytes(), KEYWORD.as_bytes()).is_none()
    {
        return Ok(());
    }
    MirroredArgument::all_of(schema).map_or(Ok(()), |mirrored| check_headers(&mirrored, request))
}

#[cfg(feature = "http")]
fn check(param: &MirroredArgument, params: &Params, headers: &http::HeaderMap) -> Result<(), Error> {
    let name = format!("{}{}", header::PARAM_PREFIX, param.header());
    let refuse = |why: &str| Err(Error::header_mismatch(format!("the header {name} {why}")));
    let mut values = headers.get_all(&name).iter();
    let (value, argument) =
        (values.next(), params.object("arguments").and_then(|arguments| param.value(&arguments)));
    if values.next().is_some() {
        return refuse("came more than once");
    }
    match (value, argument) {
        (None, None) => Ok(()),
        (None, Some(_)) => refuse("is missing"),
        (Some(_), None) => refuse("has no argument that it repeats"),
        (Some(value), Some(argument)) => match header::decode(value.as_bytes()) {
            Some(text) if says(&text, &argument) => Ok(()),
            Some(_) => refuse("says something else than its argument"),
            None => refuse("is malformed"),
        },
    }
}

/// Returns whether the text of a header stands for the argument.
#[cfg(feature = "http")]
fn says(text: &str, argument: &RawJson) -> bool {
    if let Some(argument) = argument.to_text() {
        return text == argument;
    }
    let Ok(argument) = std::str::from_utf8(argument.as_bytes()) else { return false };
    if text == argument {
        return true;
    }
    // Integers have more than one spelling: 42 and 42.0 are the same.
    match (text.parse::<f64>(), argument.parse::<f64>()) {
        (Ok(text), Ok(argument)) => text.is_finite() && text.total_cmp(&argument).is_eq(),
        _ => false,
    }
}

/// Removes `null` from the types of arguments that are repeated in a header, where the specification forbids it: an
/// optional argument is left out instead.
fn without_null(properties: &mut Value) {
    for property in properties.as_object_mut().into_iter().flat_map(|properties| properties.values_mut()) {
        if property.get(KEYWORD).is_some()
            && let Some([Value::String(kind), Value::String(null)]) =
                property.get("type").and_then(Value::as_array).map(Vec::as_slice)
            && null == "null"
        {
            property["type"] = kind.as_str().into();
        }
        if let Some(inner) = property.get_mut("properties") {
            without_null(inner);
        }
    }
}

/// Returns the form whose fields are those of `T`: a flat object of texts, numbers, booleans and choices.
pub(crate) fn form_of<T: JsonSchema>() -> Result<FormSchema, Error> {
    let schema = read_by::<T>().to_value();
    flatten(&schema)
        .and_then(|form| RawJson::from_value(&form).and_then(|form| form.to()).ok())
        .ok_or_else(|| Error::internal("the fields of a form must be texts, numbers, booleans or choices"))
}

fn flatten(schema: &Value) -> Option<Value> {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let mut properties = Map::new();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        properties.insert(name.clone(), field(property, definitions)?);
    }
    let mut form = json!({ "type": "object", "properties": properties });
    if let Some(required) = schema.get("required") {
        form["required"] = required.clone();
    }
    Some(form)
}

/// Returns the schema of one field, with its references replaced by their targets.
fn field(schema: &Value, definitions: Option<&Map<String, Value>>) -> Option<Value> {
    let mut members = schema.as_object()?.clone();
    let target = match (members.remove("$ref"), members.remove("anyOf")) {
        (Some(reference), None) => Some(reference),
        // An optional choice is one of the two.
        (None, Some(Value::Array(either))) => either.iter().find_map(|one| one.get("$ref").cloned()),
        (None, None) => None,
        _ => return None,
    };
    if let Some(target) = target {
        let name = target.as_str()?.strip_prefix("#/$defs/")?;
        for (keyword, value) in definitions?.get(name)?.as_object()? {
            members.entry(keyword.clone()).or_insert_with(|| value.clone());
        }
    }
    if let Some(kinds) = members.get("type").and_then(Value::as_array) {
        let kind = kinds.iter().find(|kind| *kind != "null")?.clone();
        members.insert("type".into(), kind);
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    if let Some(choices) = members.remove("oneOf") {
        members.insert("type".into(), "string".into());
        if let Some(choices) = titled(&choices) {
            members.insert("oneOf".into(), choices);
        } else {
            members.insert("enum".into(), plain(&choices)?);
        }
    }
    match members.get("type").and_then(Value::as_str)? {
        "string" | "boolean" => {}
        "number" | "integer" => _ = members.remove("format"),
        "array" => {
            let items = field(members.get("items")?, definitions)?;
            let items = match items.get("oneOf") {
                Some(choices) => json!({ "anyOf": choices }),
                None => items,
            };
            members.insert("items".into(), items);
        }
        _ => return None,
    }
    Some(Value::Object(members))
}

/// Returns choices with a name for people, which is the first line that documents each.
fn titled(choices: &Value) -> Option<Value> {
    let choices = choices.as_array()?.iter().map(|choice| {
        let title = choice.get("title").or_else(|| choice.get("description"))?;
        Some(json!({ "const": choice.get("const")?, "title": title }))
    });
    choices.collect()
}

/// Returns choices without a name.
fn plain(choices: &Value) -> Option<Value> {
    let mut values = Vec::new();
    for choice in choices.as_array()? {
        match (choice.get("const"), choice.get("enum").and_then(Value::as_array)) {
            (Some(value), _) => values.push(value.clone()),
            (None, Some(several)) => values.extend(several.iter().cloned()),
            (None, None) => return None,
        }
    }
    Some(Value::Array(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Profile {
        /// What to call you.
        name: String,
        age: Option<u8>,
        #[schemars(range(min = 0.0, max = 100.0))]
        score: f64,
        status: Option<Status>,
        agreed: bool,
        colours: Vec<Status>,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema matters")]
    enum Status {
        Active,
        Inactive,
    }

    #[test]
    fn fields_become_flat_schemas() {
        let form = RawJson::from_value(&form_of::<Profile>().unwrap()).unwrap();
        let form: Value = form.to().unwrap();
        let fields = &form["properties"];
        assert_eq!(fields["name"], json!({"type": "string", "description": "What to call you."}));
        assert_eq!(fields["age"]["type"], "integer");
        assert_eq!(fields["score"]["maximum"].as_f64(), Some(100.0));
        assert_eq!(fields["status"], json!({"type": "string", "enum": ["active", "inactive"]}));
        assert_eq!(fields["agreed"], json!({"type": "boolean"}));
        assert_eq!(fields["colours"]["items"], json!({"type": "string", "enum": ["active", "inactive"]}));
        assert_eq!(form["required"], json!(["name", "score", "agreed", "colours"]));
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Nested {
        inner: Profile,
    }

    #[test]
    fn a_nested_object_is_no_field() {
        assert!(form_of::<Nested>().is_err());
    }
}
