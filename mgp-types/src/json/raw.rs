use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{JsonError, Limits, scan, write_string};

/// One JSON value, known to be valid, held as the bytes it arrived in.
///
/// A `RawJson` is a reference-counted slice: cloning it or cutting it out of a frame copies nothing.
/// It keeps the whole frame alive, so what outlives a request is [`detached`](Self::detached) first.
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
    /// Checks `bytes` with the default [`Limits`] and keeps the value without the white space around it.
    ///
    /// # Errors
    /// The bytes are not exactly one JSON value, nest too deeply, or repeat a member name.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, JsonError> {
        let bytes = bytes.into();
        let span = scan::value(&bytes, Limits::default())?;
        Ok(Self(bytes.slice(span)))
    }

    /// Writes `value` as JSON.
    ///
    /// # Errors
    /// The value's own `Serialize` refuses, or a map key is not a string.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(Self::from_valid)
    }

    /// A JSON string.
    pub fn from_text(text: &str) -> Self {
        let mut out = Vec::with_capacity(text.len() + "\"\"".len());
        write_string(&mut out, text);
        Self::from_valid(out)
    }

    /// Takes bytes that the caller wrote as one JSON value, member by member.
    ///
    /// For results written on the hot path; anything that came from elsewhere is [parsed](Self::parse).
    /// Debug builds check the bytes.
    pub fn from_written(bytes: Vec<u8>) -> Self {
        debug_assert!(scan::value(&bytes, Limits::default()).is_ok(), "what was written is not JSON");
        Self(bytes.into())
    }

    /// Takes bytes that the caller has scanned or written as JSON.
    pub(crate) fn from_valid(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    /// `null`.
    pub const fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    /// `{}`.
    pub const fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// The value as a typed one.
    ///
    /// # Errors
    /// The JSON does not have the shape of `T`.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// The value as a typed one that may borrow from this one.
    ///
    /// # Errors
    /// The JSON does not have the shape of `T`.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// The text of a JSON string, or `None` for any other value.
    pub fn to_text(&self) -> Option<String> {
        if self.0.first() == Some(&b'"') { self.to().ok() } else { None }
    }

    /// The bytes of the value.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes of the value, to share.
    pub fn to_bytes(&self) -> Bytes {
        self.0.clone()
    }

    /// A copy that no longer keeps the frame it came in alive.
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        &self.0[..] == b"null"
    }
}

impl fmt::Display for RawJson {
    /// Writes the value as the JSON that it is; `{:#}` writes it over several lines, indented.
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

/// Writes valid JSON with each member and element on a line of its own. Nothing else of it is changed: a
/// `serde_json::Value` in between would sort the members and round the numbers.
fn write_indented(f: &mut fmt::Formatter<'_>, json: &str) -> fmt::Result {
    let mut depth = 0;
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' { string_length(rest) } else { first.len_utf8() };
        let (token, behind) = rest.split_at(length);
        rest = behind.trim_start();
        match first {
            '{' | '[' if rest.starts_with(['}', ']']) => {
                write!(f, "{token}{}", &rest[..1])?;
                rest = rest[1..].trim_start();
            }
            '{' | '[' => {
                depth += 1;
                write!(f, "{token}\n{:1$}", "", depth * INDENT)?;
            }
            '}' | ']' => {
                depth -= 1;
                write!(f, "\n{:1$}{token}", "", depth * INDENT)?;
            }
            ',' => write!(f, ",\n{:1$}", "", depth * INDENT)?,
            ':' => f.write_str(": ")?,
            _ => f.write_str(token)?,
        }
    }
    Ok(())
}

/// Returns how many bytes the string at the start of `json` has, with its quotation marks.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |end| end + "\"\"".len())
}

/// How many spaces a level of `{:#}` has.
const INDENT: usize = 2;

impl From<Box<RawValue>> for RawJson {
    fn from(value: Box<RawValue>) -> Self {
        Self(Bytes::from(Box::<str>::from(value).into_boxed_bytes()))
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Only `RawValue` may write bytes as they are; building one costs a scan, no copy.
        let value: &RawValue = serde_json::from_slice(&self.0).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
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
    fn the_alternate_form_is_indented_and_keeps_order_and_digits() {
        let value = RawJson::parse(r#"{"b":[1.50, {}],"a":"\\\"{,","c":[ ]}"#).unwrap();
        let lines =
            ["{", r#"  "b": ["#, "    1.50,", "    {}", "  ],", r#"  "a": "\\\"{,","#, r#"  "c": []"#, "}"];
        assert_eq!(format!("{value:#}"), lines.join("\n"));
        assert_eq!(format!("{:#}", RawJson::from_text("ä b")), "\"ä b\"");
    }
}
