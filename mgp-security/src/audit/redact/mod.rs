//! Redaction: secrets are taken out of arguments before these are recorded.

mod schema;
#[cfg(test)]
mod tests;
mod write;

use std::borrow::Cow;

use mgp_types::RawJson;
use mgp_types::secret::secrets;
use serde_json::Value;

use self::schema::Schemas;
use self::write::RedactingWriter;

/// Returns arguments without their secrets, about two kilobytes of them: secrets are found by the names of members, by
/// the form of values, and by the tool's schema (`writeOnly`, or the format `password`).
///
/// The function rather takes out too much than too little, but cannot find a secret that looks like an ordinary word
/// and stands under an ordinary name. If arguments must not be in the log at all, leave them out with
/// [`ArgumentRecording::Omitted`](super::ArgumentRecording::Omitted).
///
/// ```
/// use mgp_security::audit::redacted;
/// use mgp_types::RawJson;
///
/// let arguments = RawJson::parse(r#"{"apiKey":"k-1","command":"curl -H 'Authorization: Bearer abc.def123' x.org"}"#)?;
/// assert_eq!(
///     redacted(&arguments, None).as_bytes(),
///     br#"{"apiKey":"[redacted]","command":"curl -H 'Authorization: [redacted]' x.org"}"#
/// );
/// # Ok::<(), mgp_types::JsonError>(())
/// ```
pub fn redacted(arguments: &RawJson, schema: Option<&RawJson>) -> RawJson {
    let bytes = arguments.as_bytes().len();
    let value = if bytes <= MAX_INPUT_BYTES { arguments.to::<Value>().ok() } else { None };
    // A schema that cannot be read might have marked any value as a secret.
    let (Some(value), Ok(schema)) = (value, schema.map(RawJson::to::<Value>).transpose()) else {
        return RawJson::from_written(format!(r#"{{"omitted_bytes":{bytes}}}"#).into_bytes());
    };
    let mut writer = RedactingWriter { out: Vec::with_capacity(256), max_bytes: MAX_BYTES, depth: 0 };
    writer.redacted(&value, &schema.as_ref().map_or_else(Schemas::none, Schemas::of));
    RawJson::from_written(writer.out)
}

/// Returns the text without what looks like a secret. It is longer than `text` at most by a few words for each
/// secret.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    let parts = secrets(text);
    if parts.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for part in parts {
        shown.push_str(&text[at..part.start]);
        shown.push_str(REDACTED);
        at = part.end;
    }
    shown.push_str(&text[at..]);
    Cow::Owned(shown)
}

/// Returns a name of a tool, a prompt or a method without what looks like a secret.
pub(super) fn name(name: &str) -> Cow<'_, str> {
    // Every form that can stand in a name has such a piece, and hardly any name has.
    let mut pieces = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    if pieces.any(|piece| piece.len() >= MIN_PIECE) { text(name) } else { Cow::Borrowed(name) }
}

/// The length of the shortest piece of letters and digits that every secret in a name has.
const MIN_PIECE: usize = 16;

/// The mark in place of a secret.
const REDACTED: &str = "[redacted]";

/// The largest size of arguments in bytes that is read. Reading more to keep two kilobytes of it would be a way to
/// slow the kernel down.
const MAX_INPUT_BYTES: usize = 256 * 1024;

/// The approximate size in bytes at which the written arguments end.
const MAX_BYTES: usize = 2_048;
