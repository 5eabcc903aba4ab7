//! Reading arguments, with errors that name the place of the fault.

use std::fmt::Write as _;

use mgp_types::{Object, Params, RawJson};
use serde::de::DeserializeOwned;

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
    match params.get("arguments") {
        None => Ok(RawJson::empty_object()),
        Some(null) if null.is_null() => Ok(RawJson::empty_object()),
        Some(arguments) if arguments.is_object() => Ok(arguments),
        Some(_) => Err(not_an_object()),
    }
}

/// Returns the arguments as members.
pub(crate) fn members(params: &Params) -> Result<Object, ArgumentFault> {
    Object::from_raw(&raw(params)?).map_err(|error| ArgumentFault(format!("invalid arguments: {error}")))
}

fn not_an_object() -> ArgumentFault {
    ArgumentFault("invalid arguments: expected an object".into())
}

/// Describes the fault of arguments, and its place.
fn explain(bytes: &[u8], error: &serde_json::Error) -> ArgumentFault {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
    let mut text = String::from("invalid arguments");
    let path = path_at(bytes, offset(bytes, error.line(), error.column()));
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

/// Returns the JSON pointer to the value that `end` lies in, of JSON known to be valid.
fn path_at(bytes: &[u8], end: usize) -> String {
    let mut path: Vec<Step> = Vec::new();
    let mut at = 0;
    while at < end.min(bytes.len()) {
        match bytes[at] {
            b'{' => path.push(Step::Object { name: None, value: false }),
            b'[' => path.push(Step::Array { index: 0 }),
            // The error of a whole object or array is noticed at its end, and belongs to it.
            b'}' | b']' if at + 1 >= end => path.last_mut().map_or((), Step::forget),
            b'}' | b']' => _ = path.pop(),
            b',' => path.last_mut().map_or((), Step::advance),
            b':' => {
                if let Some(Step::Object { value, .. }) = path.last_mut() {
                    *value = true;
                }
            }
            b'"' => {
                let start = at;
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                if let Some(Step::Object { name, value: false }) = path.last_mut() {
                    *name = bytes.get(start..=at).and_then(|quoted| serde_json::from_slice(quoted).ok());
                }
            }
            _ => {}
        }
        at += 1;
    }
    path.iter().filter_map(Step::pointer).collect()
}

enum Step {
    Object { name: Option<String>, value: bool },
    Array { index: usize },
}

impl Step {
    fn advance(&mut self) {
        match self {
            Self::Object { name, value } => (*name, *value) = (None, false),
            Self::Array { index } => *index += 1,
        }
    }

    fn forget(&mut self) {
        *self = Self::Object { name: None, value: false };
    }

    fn pointer(&self) -> Option<String> {
        match self {
            Self::Object { name, .. } => {
                Some(format!("/{}", name.as_ref()?.replace('~', "~0").replace('/', "~1")))
            }
            Self::Array { index } => Some(format!("/{index}")),
        }
    }
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
            fault("{\n \"a\": 1,\n \"list\": 7 }"),
            "invalid arguments at `/list`: invalid type: integer `7`, expected a sequence"
        );
    }
}
