//! Arguments that HTTP headers repeat (`x-mcp-header`), and the check that both agree.

#[cfg(feature = "http")]
use mgp_transport::http::header;
#[cfg(feature = "http")]
use mgp_types::mcp::MirroredArgument;
#[cfg(feature = "http")]
use mgp_types::mgp::UnlistedCall;
#[cfg(feature = "http")]
use mgp_types::{Error, Params, RawJson, Request};
use serde_json::Value;

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
