//! Reading arguments, with errors that name the place of the fault.

use std::collections::HashMap;
use std::fmt::Write as _;

use mgp_types::{Object, Params, RawJson};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The reason why arguments were refused, in words for the model that sent them.
#[derive(Debug)]
#[doc(hidden)]
pub struct ArgumentFault(pub(crate) String);

/// Returns the bytes of the arguments; `{}` for omitted and null ones.
pub(crate) fn bytes(params: &Params) -> &[u8] {
    match params.bytes("arguments") {
        None | Some(b"null") => b"{}",
        Some(bytes) => bytes,
    }
}

/// Reads the arguments as an `A`.
pub(crate) fn read<A: DeserializeOwned>(params: &Params) -> Result<A, ArgumentFault> {
    let bytes = bytes(params);
    // Serde would read a struct from an array as well.
    if bytes.first() != Some(&b'{') {
        return Err(not_an_object());
    }
    serde_json::from_slice(bytes).map_err(|error| explain(bytes, &error))
}

/// Returns the arguments as they came.
pub(crate) fn raw(params: &Params) -> Result<RawJson, ArgumentFault> {
    match params.get("arguments").filter(|arguments| !arguments.is_null()) {
        None => Ok(RawJson::empty_object()),
        Some(arguments) if arguments.is_object() => Ok(arguments),
        Some(_) => Err(not_an_object()),
    }
}

/// Returns the arguments as members.
pub(crate) fn members(params: &Params) -> Result<Object, ArgumentFault> {
    Object::from_raw(&raw(params)?).map_err(|error| ArgumentFault(format!("invalid arguments: {error}")))
}

/// Checks that there are no arguments.
pub(crate) fn none(params: &Params) -> Result<(), ArgumentFault> {
    match members(params)?.iter().next() {
        None => Ok(()),
        Some((name, _)) => {
            Err(ArgumentFault(format!("invalid arguments: the tool takes none, and got `{name}`")))
        }
    }
}

fn not_an_object() -> ArgumentFault {
    ArgumentFault("invalid arguments: expected an object".into())
}

/// Describes the fault of arguments, and its place.
fn explain(bytes: &[u8], error: &serde_json::Error) -> ArgumentFault {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
    let mut text = String::from("invalid arguments");
    let arguments = std::str::from_utf8(bytes).unwrap_or_default();
    let path = path_at(arguments, offset(bytes, error.line(), error.column()));
    if !path.is_empty() {
        let _ = write!(text, " at `{path}`");
    }
    let _ = write!(text, ": {message}");
    ArgumentFault(text)
}

fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    before + column
}

/// Returns the JSON pointer to the innermost value, or member, in which the byte before `end` stands.
fn path_at(text: &str, end: usize) -> String {
    // The error of a whole object or array is noticed at its brackets, and belongs to it.
    let mut before = 1;
    for (name, value) in parts(text) {
        let start = value.as_ptr().addr() - text.as_ptr().addr();
        let after = start + value.len();
        if end <= before {
            break;
        }
        if end <= after {
            let name = name.replace('~', "~0").replace('/', "~1");
            return format!("/{name}{}", path_at(value, end.saturating_sub(start)));
        }
        before = after;
    }
    String::new()
}

/// Returns the members of an object or the items of an array, in their order.
fn parts(text: &str) -> Vec<(String, &str)> {
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) {
        return items.iter().enumerate().map(|(index, item)| (index.to_string(), item.get())).collect();
    }
    let members: HashMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
    let mut members: Vec<_> = members.into_iter().map(|(name, value)| (name, value.get())).collect();
    members.sort_unstable_by_key(|(_, value)| value.as_ptr());
    members
}

#[cfg(test)]
mod tests {
    use mgp_types::Object;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Shape {
        a: i64,
        list: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Inner {
        b: String,
    }

    fn fault(arguments: &str) -> String {
        let params = Object::parse(format!(r#"{{"arguments":{arguments}}}"#)).unwrap();
        read::<Shape>(&params).unwrap_err().0
    }

    #[test]
    fn a_fault_names_the_path_and_what_is_expected() {
        assert_eq!(
            fault(r#"{"a":"x"}"#),
            "invalid arguments at `/a`: invalid type: string \"x\", expected i64"
        );
        assert_eq!(
            fault(r#"{"a":1,"list":[{"b":"ok"},{"b":5}]}"#),
            "invalid arguments at `/list/1/b`: invalid type: integer `5`, expected a string"
        );
        assert_eq!(fault("{}"), "invalid arguments: missing field `a`");
        assert_eq!(fault(r#"{"a":1,"list":[{}]}"#), "invalid arguments at `/list/0`: missing field `b`");
        assert_eq!(
            fault(r#"{"list":[], "a":{"x":1}}"#),
            "invalid arguments at `/a`: invalid type: map, expected i64"
        );
        assert_eq!(
            fault("{\n \"a\": 1,\n \"list\": 7 }"),
            "invalid arguments at `/list`: invalid type: integer `7`, expected a sequence"
        );
    }
}
