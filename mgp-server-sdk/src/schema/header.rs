//! Arguments that HTTP headers repeat (`x-mcp-header`), and the check that both agree.

#[cfg(feature = "http")]
use mgp_transport::http::header;
#[cfg(feature = "http")]
use mgp_types::mgp::UnlistedCall;
#[cfg(feature = "http")]
use mgp_types::{Error, Object, Params, RawJson, Request};
use serde_json::Value;

/// The arguments of a tool that clients repeat in headers, by `x-mcp-header` in its schema.
#[derive(Debug, Default)]
pub(crate) struct HeaderParams(Vec<HeaderParam>);

/// One argument that is repeated in a header.
#[derive(Debug)]
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has headers"))]
struct HeaderParam {
    /// The name of the header behind `Mcp-Param-`.
    header: String,
    /// The names of the members that lead to the argument.
    path: Vec<String>,
}

const KEYWORD: &str = "x-mcp-header";

impl HeaderParams {
    /// Returns the arguments that `schema` wants repeated.
    ///
    /// # Errors
    /// The schema breaks a rule of the specification: a strange name, a name twice, a type that cannot be told from its
    /// text, a place that properties do not lead to.
    pub(crate) fn of(schema: &Value) -> Result<Self, String> {
        let mut found = Self::default();
        found.collect(schema, &mut Vec::new())?;
        if count(schema) > found.0.len() {
            return Err("`x-mcp-header` is allowed only on what `properties` alone lead to".into());
        }
        Ok(found)
    }

    /// Checks that the headers of a request over HTTP agree with its arguments. The headers of an [`UnlistedCall`] repeat
    /// none: its client need not know what the tool wants.
    ///
    /// # Errors
    /// -32020 if a header is missing, malformed, or contradicts its argument.
    #[cfg(feature = "http")]
    pub(crate) fn check(&self, request: &Request) -> Result<(), Error> {
        let parts = request.extensions.get::<http::request::Parts>();
        match parts.filter(|_| request.extensions.get::<UnlistedCall>().is_none()) {
            Some(parts) => self.0.iter().try_for_each(|param| param.check(&request.params, &parts.headers)),
            None => Ok(()),
        }
    }

    fn collect(&mut self, schema: &Value, path: &mut Vec<String>) -> Result<(), String> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
        for (name, property) in properties {
            path.push(name.clone());
            if let Some(header) = property.get(KEYWORD) {
                self.add(header, property, path)?;
            }
            self.collect(property, path)?;
            path.pop();
        }
        Ok(())
    }

    fn add(&mut self, header: &Value, property: &Value, path: &[String]) -> Result<(), String> {
        let header = header.as_str().ok_or("`x-mcp-header` must be a string")?;
        if header.is_empty() || !header.bytes().all(is_tchar) {
            return Err(format!("`x-mcp-header` has to be the name of a header, `{header}` is not"));
        }
        if self.0.iter().any(|other| other.header.eq_ignore_ascii_case(header)) {
            return Err(format!("two arguments have the `x-mcp-header` `{header}`"));
        }
        if !matches!(property.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
            return Err(format!(
                "the argument of `x-mcp-header` `{header}` must be a string, integer or boolean"
            ));
        }
        self.0.push(HeaderParam { header: header.into(), path: path.to_vec() });
        Ok(())
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
    let params = schema.to::<Value>().ok().and_then(|schema| HeaderParams::of(&schema).ok());
    params.map_or(Ok(()), |params| params.check(request))
}

#[cfg(feature = "http")]
impl HeaderParam {
    fn check(&self, params: &Params, headers: &http::HeaderMap) -> Result<(), Error> {
        let name = format!("{}{}", header::PARAM_PREFIX, self.header);
        let refuse = |why: &str| Err(Error::header_mismatch(format!("the header {name} {why}")));
        let mut values = headers.get_all(&name).iter();
        let (value, argument) = (values.next(), self.argument(params));
        if values.next().is_some() {
            return refuse("came more than once");
        }
        match (value, argument) {
            (None, None) => Ok(()),
            (None, Some(_)) => refuse("is missing"),
            (Some(_), None) => refuse("has no argument that it repeats"),
            (Some(value), Some(argument)) => match header::decode(value.as_bytes()) {
                Ok(text) if says(&text, &argument) => Ok(()),
                Ok(_) => refuse("says something else than its argument"),
                Err(_) => refuse("is malformed"),
            },
        }
    }

    /// Returns the argument, if it is there and not null.
    fn argument(&self, params: &Params) -> Option<RawJson> {
        let mut value = params.get("arguments")?;
        for name in &self.path {
            value = Object::from_raw(&value).ok()?.get(name)?;
        }
        (!value.is_null()).then_some(value)
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
pub(super) fn without_null(properties: &mut Value) {
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

/// Returns how often the keyword occurs anywhere in the schema.
fn count(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => members
            .iter()
            .map(|(keyword, value)| match keyword.as_str() {
                KEYWORD => 1,
                // These members hold data, or names of any kind.
                "const" | "enum" | "default" | "examples" => 0,
                "properties" | "$defs" | "patternProperties" | "dependentSchemas" => {
                    value.as_object().map_or(0, |inner| inner.values().map(count).sum())
                }
                _ => count(value),
            })
            .sum(),
        Value::Array(values) => values.iter().map(count).sum(),
        _ => 0,
    }
}

fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_found_along_properties() {
        let schema = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "A"},
            "b": {"type": "object", "properties": {"c": {"type": "integer", "x-mcp-header": "C"}}},
            "x-mcp-header": {"type": "string"},
        }});
        let found = HeaderParams::of(&schema).unwrap();
        let paths: Vec<_> = found.0.iter().map(|param| param.path.join("/")).collect();
        assert_eq!(paths, ["a", "b/c"]);
    }

    #[test]
    fn what_the_specification_forbids_is_refused() {
        for schema in [
            json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}),
            json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}}),
            json!({"properties": {
                "a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"},
            }}),
        ] {
            assert!(HeaderParams::of(&schema).is_err(), "{schema}");
        }
    }
}
