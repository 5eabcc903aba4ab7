//! JSON strings: escaping, unescaping, and the search for the characters that need it.

use std::borrow::Cow;

use serde::Deserialize;

use crate::hex;

/// A text, borrowed from the frame unless it holds escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct FrameText<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Returns the text of a JSON string; `None` for any other value.
pub(crate) fn read_string(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        return std::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice(quoted).ok().map(Cow::Owned)
}

/// Appends `text` as a JSON string.
///
/// ```
/// let mut out = Vec::new();
/// mgp_types::json::write_string(&mut out, "say \"hi\"\n");
/// assert_eq!(out, br#""say \"hi\"\n""#);
/// ```
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let plain = plain_prefix(rest);
        out.extend_from_slice(&rest[..plain]);
        let Some((&byte, behind)) = rest[plain..].split_first() else { break };
        rest = behind;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&hex::<2>(&[byte]));
            }
        }
    }
    out.push(b'"');
}

/// Returns the text of a scanned string, without its escapes. `raw` holds the bytes between the quotes.
pub(crate) fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(raw.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(raw);
    quoted.push(b'"');
    serde_json::from_slice::<String>(&quoted).map_or_else(|_| raw.to_vec(), String::into_bytes)
}

/// Returns how many leading bytes are neither quote, backslash nor control character. The search looks at eight bytes
/// at a time.
#[inline]
pub(super) fn plain_prefix(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let stop = zero(word ^ (ONES * 0x22))
            | zero(word ^ (ONES * 0x5C))
            | (word.wrapping_sub(ONES * 0x20) & !word & HIGH);
        if stop != 0 {
            return index * 8 + (stop.trailing_zeros() / 8) as usize;
        }
    }
    let plain = rest.iter().take_while(|&&byte| byte >= 0x20 && byte != b'"' && byte != b'\\').count();
    words.len() * 8 + plain
}

#[cfg(test)]
mod tests {
    proptest::proptest! {
        #[test]
        fn every_text_is_written_as_serde_json_writes_it(text: String) {
            let mut out = Vec::new();
            super::write_string(&mut out, &text);
            proptest::prop_assert_eq!(out, serde_json::to_vec(&text).unwrap());
        }
    }
}
