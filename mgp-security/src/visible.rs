//! Texts with everything spelled out that a person would not see.

use mgp_types::is_hidden;

/// Returns `text` with everything invisible written as an escape.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}
