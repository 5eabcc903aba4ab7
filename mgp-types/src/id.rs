//! The id of a JSON-RPC request.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::{RawJson, write_string};

/// A JSON-RPC request id: a string or an integer, echoed exactly as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum Id {
    /// An integer id.
    Number(i64),
    /// A string id.
    Text(Box<str>),
}

impl Id {
    /// Reads an id; returns `None` for `null`, a fraction and values of any other kind.
    pub fn from_json(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? {
            b'"' => serde_json::from_slice(bytes).ok().map(Self::Text),
            _ => std::str::from_utf8(bytes).ok()?.parse().ok().map(Self::Number),
        }
    }

    /// Appends the id to `out` as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(number) => write_integer(out, *number),
            Self::Text(text) => write_string(out, text),
        }
    }

    /// Returns the id as a JSON value.
    pub fn to_raw(&self) -> RawJson {
        let mut out = Vec::new();
        self.write(&mut out);
        RawJson::from_valid(out)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        Self::from_json(raw.as_bytes())
            .ok_or_else(|| serde::de::Error::custom("a request id is a string or an integer"))
    }
}

fn write_integer(out: &mut Vec<u8>, number: i64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_echoed_exactly() {
        for json in ["0", "-7", "9223372036854775807", "-9223372036854775808", r#""a\nb""#, r#""""#] {
            let id = Id::from_json(json.as_bytes()).unwrap();
            assert_eq!(id.to_raw().as_bytes(), json.as_bytes());
        }
    }

    #[test]
    fn only_strings_and_integers_are_ids() {
        for json in ["null", "1.5", "1.0", "1e3", "true", "[1]", "{}", "9223372036854775808", "+1"] {
            assert_eq!(Id::from_json(json.as_bytes()).filter(|_| json != "+1"), None, "{json}");
        }
    }
}
