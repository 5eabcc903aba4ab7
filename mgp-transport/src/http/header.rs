//! The headers of MCP, and the spelling of values that HTTP does not allow in headers.
//!
//! ```
//! use mgp_transport::http::header;
//!
//! assert_eq!(header::encode("echo"), "echo");
//! assert_eq!(header::encode("größe"), "=?base64?Z3LDtsOfZQ==?=");
//! assert_eq!(header::decode(b"=?base64?Z3LDtsOfZQ==?=")?, "größe");
//! # Ok::<(), header::MalformedValue>(())
//! ```

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use thiserror::Error;

/// `MCP-Protocol-Version`: the revision that is spoken.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// `Mcp-Session-Id`: the session, in revisions up to 2025-11-25.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// `Mcp-Method`: the method of the body, from 2026-07-28.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// `Mcp-Name`: the name of the tool, resource or prompt in the body, from 2026-07-28.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// `Last-Event-ID`: the last event a client has seen of a stream it resumes.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The prefix of the names of headers that mirror an argument.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// Returns the parameter that `Mcp-Name` mirrors for `method`; `None` if the method has no such header.
pub fn name_source(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Returns the spelling of `text` as the value of `Mcp-Name` or `Mcp-Param-*`.
///
/// Visible ASCII with spaces and tabs inside stays as it is; any other text becomes base64, and so does a text that
/// looks like base64 already.
pub fn encode(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let visible = bytes.iter().all(|&byte| matches!(byte, b'\t' | b' '..=b'~'));
    let trimmed = bytes.trim_ascii().len() == bytes.len();
    if visible && trimmed && marked(bytes).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(PREFIX.len() + bytes.len().div_ceil(3) * 4 + SUFFIX.len());
    out.push_str(PREFIX);
    STANDARD.encode_string(bytes, &mut out);
    out.push_str(SUFFIX);
    Cow::Owned(out)
}

/// Returns [`encode`]'s spelling as a header value.
pub fn encode_value(text: &str) -> HeaderValue {
    let value = match encode(text) {
        Cow::Borrowed(text) => HeaderValue::from_str(text),
        Cow::Owned(text) => HeaderValue::try_from(text),
    };
    // The value is never empty by failure: `encode` writes visible ASCII.
    value.unwrap_or(HeaderValue::from_static(""))
}

/// Returns the text that a header value spells; the white space around it does not count.
///
/// # Errors
/// The value is not ASCII, or is marked as base64 and is not the base64 of a text.
pub fn decode(value: &[u8]) -> Result<Cow<'_, str>, MalformedValue> {
    let value = value.trim_ascii();
    let Some(spelled) = marked(value) else {
        let plain = value.iter().all(|&byte| matches!(byte, b'\t' | b' '..=b'~'));
        let text = std::str::from_utf8(value).ok().filter(|_| plain);
        return text.map(Cow::Borrowed).ok_or(MalformedValue::NotAscii);
    };
    let bytes = STANDARD.decode(spelled).map_err(|_| MalformedValue::NotBase64)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| MalformedValue::NotUtf8)
}

/// Returns whether a header value spells `text`.
///
/// # Errors
/// The value cannot be read; see [`decode`].
pub fn matches(value: &[u8], text: &str) -> Result<bool, MalformedValue> {
    // A value that is marked as base64 never stands for itself.
    if value == text.as_bytes() && !value.starts_with(PREFIX.as_bytes()) {
        return Ok(true);
    }
    decode(value).map(|decoded| decoded == text)
}

/// The reasons why a header value could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MalformedValue {
    /// The value holds bytes that have to be spelled in base64.
    #[error("the value is not visible ASCII")]
    NotAscii,
    /// The value is marked as base64 and is not.
    #[error("the value is not valid base64")]
    NotBase64,
    /// The base64 of the value does not spell a text.
    #[error("the value is not the base64 of a text")]
    NotUtf8,
}

/// Returns the text between the markers.
fn marked(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(PREFIX.as_bytes())?.strip_suffix(SUFFIX.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_stand_as_they_are() {
        for text in
            ["", "echo", "a b\tc", "file:///x?y=z", "=?base64?", "?=", "=?base64?=", "=?BASE64?eA==?="]
        {
            assert_eq!(encode(text), text);
            assert_eq!(decode(text.as_bytes()).unwrap(), text);
        }
    }

    #[test]
    fn other_values_are_spelled_in_base64() {
        for (text, value) in [
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("Hello", "Hello"),
            ("a\nb", "=?base64?YQpi?="),
            ("日本", "=?base64?5pel5pys?="),
            ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
            ("\u{7f}", "=?base64?fw==?="),
        ] {
            assert_eq!(encode(text), value);
            assert_eq!(encode_value(text).as_bytes(), value.as_bytes());
            assert_eq!(decode(value.as_bytes()).unwrap(), text);
        }
    }

    #[test]
    fn white_space_around_a_value_does_not_count() {
        assert_eq!(decode(b" \techo ").unwrap(), "echo");
    }

    #[test]
    fn malformed_values_are_refused() {
        for (value, why) in [
            (&b"=?base64?SGVsbG8?="[..], MalformedValue::NotBase64),
            (b"=?base64?SGVs!!!bG8=?=", MalformedValue::NotBase64),
            (b"=?base64?Zh==?=", MalformedValue::NotBase64),
            (b"=?base64?Zm 9v?=", MalformedValue::NotBase64),
            (b"=?base64?-_-_?=", MalformedValue::NotBase64),
            (b"=?base64?/w==?=", MalformedValue::NotUtf8),
            ("größe".as_bytes(), MalformedValue::NotAscii),
        ] {
            assert_eq!(decode(value), Err(why));
        }
    }

    #[test]
    fn a_marked_value_does_not_match_itself() {
        assert_eq!(matches(b"=?base64?eA==?=", "=?base64?eA==?="), Ok(false));
        assert_eq!(matches(b"=?base64?eA==?=", "x"), Ok(true));
        assert_eq!(matches(b"x", "x"), Ok(true));
        assert_eq!(matches(b"X", "x"), Ok(false));
    }

    proptest::proptest! {
        #[test]
        fn every_text_comes_back(text: String) {
            let value = encode_value(&text);
            proptest::prop_assert_eq!(decode(value.as_bytes()).unwrap(), text);
        }

        #[test]
        fn never_panics(value: Vec<u8>) {
            let _ = decode(&value);
        }
    }
}
