//! The recording of a call's arguments: the setting for how much of them the audit trail has, and redaction, which takes
//! secrets out of them before.

mod schema;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;
use std::mem;

use mgp_types::RawJson;
use mgp_types::canonical::Digest;
use mgp_types::json::{ObjectWriter, write_string};
use mgp_types::mgp::ResolvedTool;
use mgp_types::secret::{REDACTED, is_card_number, is_label, is_labelled, is_secret_name, masked, secrets};
use ring::hmac;
use serde_json::Value;

use self::schema::Schemas;
use crate::audit::clip::clip;

/// The part of a call's arguments that is recorded.
///
/// Any part may hold information that an agent was given in confidence, so by default nothing is recorded.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum ArgumentRecording {
    /// No part of the arguments is recorded.
    #[default]
    Omitted,
    /// The HMAC-SHA-256 of the arguments' bytes is recorded as `arguments_digest`, so that their content can be
    /// proved later. It takes a key: without one, short arguments could be found by trying.
    Digest(DigestKey),
    /// The values without secrets are recorded as `arguments`.
    Redacted,
}

impl ArgumentRecording {
    pub(super) fn write(&self, details: &mut ObjectWriter, arguments: &RawJson, tool: Option<&ResolvedTool>) {
        match self {
            Self::Omitted => {}
            Self::Digest(key) => {
                details.plain("arguments_digest", key.authenticate(arguments.as_bytes()));
            }
            Self::Redacted => {
                let schema = tool.and_then(|tool| tool.definition.get("inputSchema"));
                details.json("arguments", &redacted(arguments, schema.as_ref()));
            }
        }
    }
}

/// A secret without which nobody can find out arguments by their digest.
#[derive(Clone)]
pub struct DigestKey(hmac::Key);

impl DigestKey {
    /// Returns the key with these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
    }

    /// Returns the HMAC-SHA-256 (RFC 2104) of `message`.
    fn authenticate(&self, message: &[u8]) -> Digest {
        let mut digest = [0; 32];
        digest.copy_from_slice(hmac::sign(&self.0, message).as_ref());
        digest.into()
    }
}

mgp_types::partial_debug!(DigestKey);

/// Returns arguments without their secrets, about two kilobytes of them: secrets are found by the names of members, by
/// the form of values, and by the tool's schema (`writeOnly`, or the format `password`).
///
/// The function rather takes out too much than too little, but cannot find a secret that looks like an ordinary word
/// and stands under an ordinary name. If arguments must not be in the log at all, leave them out with
/// [`ArgumentRecording::Omitted`].
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
    let mut writer = RedactingWriter { out: Vec::with_capacity(256), depth: 0 };
    writer.redacted(&value, &schema.as_ref().map(Schemas::of).unwrap_or_default());
    RawJson::from_written(writer.out)
}

/// Returns the text without what looks like a secret. It is longer than `text` at most by a few words for each
/// secret.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    masked(text, secrets(text))
}

/// Returns a name of a tool, a prompt or a method without what looks like a secret.
pub(super) fn name(name: &str) -> Cow<'_, str> {
    // Every form that can stand in a name has such a piece, and hardly any name has.
    let mut pieces = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    if pieces.any(|piece| piece.len() >= MIN_PIECE) { text(name) } else { Cow::Borrowed(name) }
}

/// A writer of values without their secrets that stops soon after [`MAX_BYTES`].
#[derive(Debug)]
struct RedactingWriter {
    out: Vec<u8>,
    depth: usize,
}

impl RedactingWriter {
    /// Writes the value without its secrets.
    fn redacted(&mut self, value: &Value, schemas: &Schemas<'_>) {
        if schemas.is_secret {
            return self.secret(value);
        }
        match value {
            Value::Number(number) if is_card_number(&number.to_string()) => self.secret(value),
            Value::Null | Value::Bool(_) | Value::Number(_) => self.plain(value),
            Value::String(string) => self.clipped(&text(clip_to(string, MAX_READ_BYTES))),
            Value::Array(items) => self.nested(*b"[]", |writer| {
                let mut is_named = false;
                for (index, item) in items.iter().enumerate() {
                    writer.comma(index);
                    if writer.is_full() {
                        writer.clipped("…");
                        break;
                    }
                    if mem::take(&mut is_named) {
                        writer.secret(item);
                    } else {
                        is_named = item.as_str().is_some_and(names_the_next);
                        writer.redacted(item, &schemas.item(index));
                    }
                }
            }),
            Value::Object(members) => self.nested(*b"{}", |writer| writer.members(members, schemas)),
        }
    }

    /// Writes a list or an object between its brackets, if it is not nested too deep.
    fn nested(&mut self, brackets: [u8; 2], write: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            return self.clipped("…");
        }
        self.depth += 1;
        self.out.push(brackets[0]);
        write(self);
        self.out.push(brackets[1]);
        self.depth -= 1;
    }

    fn members(&mut self, members: &serde_json::Map<String, Value>, schemas: &Schemas<'_>) {
        let is_labelled_secret =
            members.iter().any(|(name, value)| is_label(name) && value.as_str().is_some_and(is_secret_name));
        let mut written = HashSet::new();
        for (index, (name, value)) in members.iter().enumerate() {
            self.comma(index);
            let is_full = self.is_full();
            let name_shown = text(clip_to(name, MAX_READ_BYTES));
            let mut unique_name =
                if is_full { "…".into() } else { clip(&name_shown, MAX_NAME_BYTES).into_owned() };
            // Two names may become alike when parts are cut or taken out, and no name may stand twice in an object.
            let mut number = index;
            while !written.insert(unique_name.clone()) {
                number += 1;
                unique_name = format!("…{number}");
            }
            write_string(&mut self.out, &unique_name);
            self.out.push(b':');
            if is_full {
                self.clipped("…");
                break;
            }
            if is_secret_name(name) || (is_labelled_secret && is_labelled(name)) {
                self.secret(value);
            } else {
                self.redacted(value, &schemas.member(name));
            }
        }
    }

    fn secret(&mut self, value: &Value) {
        // Null and booleans are never secrets, and show whether a value was given.
        if value.is_null() || value.is_boolean() { self.plain(value) } else { self.clipped(REDACTED) }
    }

    fn plain(&mut self, value: &Value) {
        self.out.extend_from_slice(value.to_string().as_bytes());
    }

    fn clipped(&mut self, text: &str) {
        let left = MAX_BYTES.saturating_sub(self.out.len());
        write_string(&mut self.out, &clip(text, MAX_TEXT_BYTES.min(left.max(16))));
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push(b',');
        }
    }

    fn is_full(&self) -> bool {
        self.out.len() >= MAX_BYTES
    }
}

/// Returns whether an item of a list announces that the next one is a secret, as `--password` does.
fn names_the_next(item: &str) -> bool {
    let name = item.trim_start_matches('-').trim_end_matches(':');
    let is_name = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(['=', ' ', ':', '/']);
    is_name && is_secret_name(name)
}

fn clip_to(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// The number of bytes of a text that are searched. The written part ends far before that, so no secret in it is cut
/// off and missed.
const MAX_READ_BYTES: usize = 8 * 1024;

/// The number of bytes to which a text is cut.
const MAX_TEXT_BYTES: usize = 512;

/// The number of bytes to which a name is cut.
const MAX_NAME_BYTES: usize = 64;

/// The number of levels of nesting that are written.
const MAX_DEPTH: usize = 16;

/// The length of the shortest piece of letters and digits that every secret in a name has.
const MIN_PIECE: usize = 16;

/// The largest size of arguments in bytes that is read. Reading more to keep two kilobytes of it would be a way to
/// slow the kernel down.
const MAX_INPUT_BYTES: usize = 256 * 1024;

/// The approximate size in bytes at which the written arguments end.
const MAX_BYTES: usize = 2_048;
