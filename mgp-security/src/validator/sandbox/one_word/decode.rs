//! The decoder of encodings that a later program may remove.

use std::sync::LazyLock;

use regex::Regex;

use super::super::pattern;

/// Decodes one layer of encoding: percent signs, entities, and backslashes before line ends; returns `None` if nothing
/// was encoded.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut end = 0;
    for found in ENCODED.find_iter(text) {
        let digits = found.as_str().trim_start_matches(['%', '\\', '&', '#']).trim_end_matches(';');
        let byte = match digits {
            "n" | "r" => b'\n',
            "033" => 0x1b,
            "lt" => b'<',
            "gt" => b'>',
            "amp" => b'&',
            "quot" => b'"',
            "apos" => b'\'',
            decimal if found.as_str().starts_with("&#") && !decimal.starts_with('x') => {
                decimal.parse().ok()?
            }
            hex => u8::from_str_radix(hex.trim_start_matches(['x', 'u']), 16).ok()?,
        };
        bytes.extend_from_slice(&text.as_bytes()[end..found.start()]);
        bytes.push(byte);
        end = found.end();
    }
    bytes.extend_from_slice(&text.as_bytes()[end..]);
    (end > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// A character of ASCII, or a byte, that is written as something else.
static ENCODED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?:%|\\x|\\u00)[[:xdigit:]]{2}|\\[nr]|\\033|&(?:lt|gt|amp|quot|apos);|",
        r"&#(?:x27|x3b|x7c|10|38|39|59|96|124);",
    ))
});
