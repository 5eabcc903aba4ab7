//! JSON values as the bytes they arrived in, and the error of bytes that are no JSON.

use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;
use thiserror::Error;

use super::{Scanner, scan, write_string};

/// One JSON value, known to be valid, held as the bytes it arrived in.
///
/// A `RawJson` is a reference-counted slice: cloning it or cutting it out of a frame copies nothing. The slice keeps
/// its whole frame alive, so a value that outlives its request is [`detached`](Self::detached) first.
///
/// ```
/// use mgp_types::RawJson;
///
/// let value = RawJson::parse(r#" {"a": 1} "#)?;
/// assert_eq!(value.as_bytes(), br#"{"a": 1}"#);
/// assert_eq!(value.to_string(), r#"{"a": 1}"#);
/// assert!(RawJson::parse("{'a': 1}").is_err());
/// # Ok::<(), mgp_types::JsonError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Bytes);

impl RawJson {
    /// Checks `bytes` and keeps the value without the white space around it.
    ///
    /// # Errors
    /// The bytes are not exactly one JSON value, nest too deeply, or repeat a member name.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, JsonError> {
        let bytes = bytes.into();
        let span = scan::value(&bytes)?;
        Ok(Self(bytes.slice(span)))
    }

    /// Writes `value` as JSON.
    ///
    /// # Errors
    /// The value's own `Serialize` refuses, or a map key is not a string.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(Self::from_valid)
    }

    /// Returns `text` as a JSON string.
    pub fn from_text(text: &str) -> Self {
        let mut out = Vec::with_capacity(text.len() + "\"\"".len());
        write_string(&mut out, text);
        Self::from_valid(out)
    }

    /// Takes over bytes that the caller wrote as one JSON value, member by member.
    ///
    /// This serves results on the hot path; bytes from elsewhere are [parsed](Self::parse). Debug builds check the
    /// bytes.
    pub fn from_written(bytes: Vec<u8>) -> Self {
        debug_assert!(scan::value(&bytes).is_ok(), "what was written is not JSON");
        Self(bytes.into())
    }

    /// Takes over bytes that the caller has scanned or written as JSON.
    pub(crate) fn from_valid(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    /// Returns `null`.
    pub const fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    /// Returns `{}`.
    pub const fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// Reads the value as a `T`, which may borrow from this value.
    ///
    /// # Errors
    /// The JSON does not have the shape of `T`.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// Returns the text of a JSON string; `None` for any other value.
    pub fn to_text(&self) -> Option<String> {
        if self.0.first() == Some(&b'"') { self.to().ok() } else { None }
    }

    /// Returns the bytes of the value.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bytes of the value as a shared slice.
    pub fn to_bytes(&self) -> Bytes {
        self.0.clone()
    }

    /// Returns a copy that does not keep the frame alive in which the value came.
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// Returns the value without a space or a line break between its parts.
    #[must_use]
    pub fn compact(&self) -> Self {
        let mut out = Vec::with_capacity(self.0.len());
        let mut rest = std::str::from_utf8(&self.0).unwrap_or_default();
        while let Some((token, behind)) = next_token(rest) {
            out.extend_from_slice(token.as_bytes());
            rest = behind;
        }
        Self::from_written(out)
    }

    /// Returns whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Returns whether the value is `null`.
    pub fn is_null(&self) -> bool {
        &self.0[..] == b"null"
    }
}

impl fmt::Display for RawJson {
    /// Writes the JSON of the value; `{:#}` writes one member per line, indented.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = std::str::from_utf8(&self.0).map_err(|_| fmt::Error)?;
        if f.alternate() { write_indented(f, json) } else { f.write_str(json) }
    }
}

impl fmt::Debug for RawJson {
    /// Writes the value as [`Display`](fmt::Display) does. [`Request`](crate::Request) and
    /// [`Response`](crate::Response), which reach logs whole, leave values out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The spaces by which `{:#}` indents each level.
const INDENT: usize = 2;

/// Writes valid JSON with each member and element on a line of its own. The rest stays as it is: a `serde_json::Value`
/// in between would sort the members and round the numbers.
fn write_indented(f: &mut fmt::Formatter<'_>, json: &str) -> fmt::Result {
    let mut depth = 0;
    let mut rest = json;
    while let Some((token, behind)) = next_token(rest) {
        rest = behind;
        match token {
            "{" | "[" if rest.starts_with(['}', ']']) => {
                write!(f, "{token}{}", &rest[..1])?;
                rest = rest[1..].trim_start();
            }
            "{" | "[" => {
                depth += 1;
                write!(f, "{token}\n{:1$}", "", depth * INDENT)?;
            }
            "}" | "]" => {
                depth -= 1;
                write!(f, "\n{:1$}{token}", "", depth * INDENT)?;
            }
            "," => write!(f, ",\n{:1$}", "", depth * INDENT)?,
            ":" => f.write_str(": ")?,
            _ => f.write_str(token)?,
        }
    }
    Ok(())
}

/// Returns the string, or else the character, at the start of valid JSON, and what follows behind white space.
fn next_token(json: &str) -> Option<(&str, &str)> {
    let length = match json.chars().next()? {
        '"' => Scanner::of_checked(json.as_bytes()).value().map_or(json.len(), |span| span.end as usize),
        first => first.len_utf8(),
    };
    let (token, behind) = json.split_at(length);
    Some((token, behind.trim_start()))
}

crate::convert!(
    Box<RawValue> => RawJson, value => Self(Bytes::from(Box::<str>::from(value).into_boxed_bytes()))
);

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Only `RawValue` may write bytes as they are; building one costs a scan and no copy.
        let value: &RawValue = serde_json::from_slice(&self.0).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

/// The fault for which bytes were refused as JSON, and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{fault} at byte {offset}")]
#[non_exhaustive]
pub struct JsonError {
    /// The kind of fault.
    pub fault: JsonFault,
    /// The offset in bytes at which the scanner noticed the fault.
    pub offset: usize,
}

/// The kinds of fault for which bytes are refused as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JsonFault {
    /// The bytes end inside a value.
    #[error("unexpected end of JSON")]
    UnexpectedEnd,
    /// The bytes have a character where JSON does not allow it.
    #[error("invalid JSON")]
    Syntax,
    /// The bytes are not UTF-8, or an escape names half a character.
    #[error("invalid unicode")]
    Unicode,
    /// The bytes are longer than 4 GiB.
    #[error("JSON too long")]
    TooLong,
    /// The value nests more than 120 arrays and objects.
    #[error("JSON nested too deeply")]
    TooDeep,
    /// An object names the same member twice; two readers may take different values.
    #[error("duplicate object member")]
    DuplicateMember,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_prints_as_the_json_that_it_is() {
        let value = RawJson::parse(r#" {"b":[1.50,"é\n"], "a":null} "#).unwrap();
        let json = r#"{"b":[1.50,"é\n"], "a":null}"#;
        assert_eq!(value.to_string(), json);
        assert_eq!(format!("{value:?}"), json);
        assert_eq!(format!("{:?}", Some(&value)), format!("Some({json})"));
        assert_eq!(RawJson::null().to_string(), "null");
    }

    #[test]
    fn the_alternate_form_is_indented_and_keeps_order_digits_and_strings() {
        let json =
            RawJson::parse(r#"{ "b" : [ ], "a":{"c":[1.50, "x,\"}{", {}]},"d":"\\" , "é" : null}"#).unwrap();
        let expected = r#"{
  "b": [],
  "a": {
    "c": [
      1.50,
      "x,\"}{",
      {}
    ]
  },
  "d": "\\",
  "é": null
}"#;
        assert_eq!(format!("{json:#}"), expected);
        assert_eq!(format!("{:#}", RawJson::parse("\"a: b\"").unwrap()), "\"a: b\"");
    }

    #[test]
    fn spaces_are_left_out_between_values_and_stay_in_strings() {
        let spaced = RawJson::parse("{ \"a\" :\t[ 1 ,\n-2.5e3, true ], \"b c\\\"\" : \" \\\\\" }").unwrap();
        assert_eq!(spaced.compact().to_string(), r#"{"a":[1,-2.5e3,true],"b c\"":" \\"}"#);
        assert_eq!(RawJson::parse(format!("{spaced:#}")).unwrap().compact(), spaced.compact());
    }
}
