//! Functions that shorten texts and escape invisible characters, for records and logs.

use std::borrow::Cow;

use crate::visible::visible;

/// Returns the text or, if it is longer than `max_bytes`, its beginning followed by a mark.
pub(crate) fn clip(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(max_bytes)]))
}

/// Shortens the text like [`clip`], and writes characters that are invisible or move the cursor as escapes.
pub(crate) fn printable(text: &str, max_bytes: usize) -> Cow<'_, str> {
    let clipped = clip(text, max_bytes);
    if clipped.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return clipped;
    }
    Cow::Owned(visible(&clipped))
}

#[cfg(test)]
mod tests {
    use super::{clip, printable};

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcd", 3), "abc…");
        assert_eq!(clip("aéé", 2), "a…");
    }

    #[test]
    fn what_moves_the_cursor_is_written_out() {
        assert_eq!(printable("a\n\u{1b}[2J\u{202e}é", 64), r"a\n\u{1b}[2J\u{202e}é");
    }
}
