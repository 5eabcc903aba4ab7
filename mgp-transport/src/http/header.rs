//! The headers of MCP, and the spelling of values that HTTP does not allow in headers.
//!
//! ```
//! use mgp_transport::http::header;
//!
//! assert_eq!(header::encode("echo"), "echo");
//! assert_eq!(header::encode("größe"), "=?base64?Z3LDtsOfZQ==?=");
//! assert_eq!(header::decode(b"=?base64?Z3LDtsOfZQ==?=").as_deref(), Some("größe"));
//! ```

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderName;

/// `MCP-Protocol-Version`: the revision that is spoken.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// `Mcp-Session-Id`: the session, in revisions up to 2025-11-25.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// `Mcp-Method`: the method of the body, from 2026-07-28.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// `Mcp-Name`: the name of the tool, resource or prompt in the body, from 2026-07-28.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The prefix of the names of headers that mirror an argument.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// Returns the parameter that `Mcp-Name` mirrors for `method`; `None` if the method has no such header.
pub(crate) fn name_source(method: &str) -> Option<&'static str> {
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

/// Returns the text that a header value spells; the white space around it does not count. `None` if the value is not
/// ASCII, or is marked as base64 and is not the base64 of a text.
pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
    let value = value.trim_ascii();
    let Some(spelled) = marked(value) else {
        let plain = value.iter().all(|&byte| matches!(byte, b'\t' | b' '..=b'~'));
        let text = std::str::from_utf8(value).ok().filter(|_| plain);
        return text.map(Cow::Borrowed);
    };
    String::from_utf8(STANDARD.decode(spelled).ok()?).map(Cow::Owned).ok()
}

/// Returns whether a header value spells `text`; `None` if the value cannot be read, see [`decode`].
pub fn matches(value: &[u8], text: &str) -> Option<bool> {
    // A value that is marked as base64 never stands for itself.
    if value == text.as_bytes() && !value.starts_with(PREFIX.as_bytes()) {
        return Some(true);
    }
    decode(value).map(|decoded| decoded == text)
}

/// Returns whether a `Content-Type` names `media`, with parameters or without.
pub(crate) fn is_media(content_type: &[u8], media: &str) -> bool {
    let named = content_type.split(|&byte| byte == b';').next().unwrap_or_default();
    named.trim_ascii().eq_ignore_ascii_case(media.as_bytes())
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
            assert_eq!(decode(value.as_bytes()).unwrap(), text);
        }
    }

    #[test]
    fn white_space_around_a_value_does_not_count() {
        assert_eq!(decode(b" \techo ").unwrap(), "echo");
    }

    #[test]
    fn malformed_values_are_refused() {
        for value in [
            "=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?Zh==?=", "=?base64?Zm 9v?=",
            "=?base64?-_-_?=", "=?base64?/w==?=", "größe",
        ] {
            assert_eq!(decode(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn a_marked_value_does_not_match_itself() {
        assert_eq!(matches(b"=?base64?eA==?=", "=?base64?eA==?="), Some(false));
        assert_eq!(matches(b"=?base64?eA==?=", "x"), Some(true));
        assert_eq!(matches(b"x", "x"), Some(true));
        assert_eq!(matches(b"X", "x"), Some(false));
    }

    #[test]
    fn a_media_type_may_have_parameters() {
        let is_json = |value: &str| is_media(value.as_bytes(), "application/json");
        assert!(is_json("application/json") && is_json("Application/Json ; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("") && !is_json("application/json-seq"));
    }

    proptest::proptest! {
        #[test]
        fn every_text_comes_back(text: String) {
            let value = encode(&text);
            proptest::prop_assert_eq!(decode(value.as_bytes()).unwrap(), &*text);
        }

        #[test]
        fn never_panics(value: Vec<u8>) {
            let _ = decode(&value);
        }
    }
}
