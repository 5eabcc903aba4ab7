//! The JSON writer that leaves secrets out and bounds the output.

use std::collections::HashSet;
use std::mem;

use mgp_types::json::write_string;
use mgp_types::secret::{is_card_number, is_label, is_labelled, is_secret_name};
use serde_json::Value;

use super::schema::Schemas;
use super::{REDACTED, text};
use crate::audit::clip::clip;

/// A writer of values without their secrets that stops soon after a given number of bytes.
#[derive(Debug)]
pub(super) struct RedactingWriter {
    pub(super) out: Vec<u8>,
    pub(super) max_bytes: usize,
    pub(super) depth: usize,
}

impl RedactingWriter {
    /// Writes the value without its secrets.
    pub(super) fn redacted(&mut self, value: &Value, schemas: &Schemas<'_>) {
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
        match value {
            // Null and booleans are never secrets, and show whether a value was given.
            Value::Null | Value::Bool(_) => self.plain(value),
            _ => self.clipped(REDACTED),
        }
    }

    fn plain(&mut self, value: &Value) {
        self.out.extend_from_slice(value.to_string().as_bytes());
    }

    fn clipped(&mut self, text: &str) {
        let left = self.max_bytes.saturating_sub(self.out.len());
        write_string(&mut self.out, &clip(text, MAX_TEXT_BYTES.min(left.max(16))));
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push(b',');
        }
    }

    fn is_full(&self) -> bool {
        self.out.len() >= self.max_bytes
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
