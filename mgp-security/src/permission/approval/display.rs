//! Functions that make untrusted texts safe to show to people.

use std::fmt::Write as _;

use crate::visible::visible;

/// Returns a text in a form that is safe to show: without characters that move the cursor, change the direction of
/// writing or are invisible, and at most `max_chars` characters long.
///
/// Such texts come from servers and models, and a terminal or page that shows them unchanged can be made to show
/// something else.
pub(super) fn plain(text: &str, max_chars: usize) -> String {
    shown(text, max_chars, |text| text.split('\n').map(visible).collect::<Vec<_>>().join("\n"))
}

/// Returns a name in a form that is safe to show in backticks within a sentence: it ends neither its quotes nor its
/// line.
pub(super) fn line(name: &str) -> String {
    shown(name, MAX_NAME_CHARS, visible).replace('`', "\\u{60}")
}

/// Returns the words of a server in a form that is safe to show: they do not end their line.
pub(super) fn sentence(words: &str) -> String {
    shown(words, MAX_SENTENCE_CHARS, visible)
}

fn shown(text: &str, max_chars: usize, visible: impl Fn(&str) -> String) -> String {
    let end = text.char_indices().nth(max_chars).map_or(text.len(), |(end, _)| end);
    let mut shown = visible(&text[..end]);
    let cut = text[end..].chars().count();
    if cut > 0 {
        // Writing into a string does not fail.
        let _ = write!(shown, "… ({cut} more characters are not shown)");
    }
    shown
}

/// The largest number of characters of a name that are shown.
const MAX_NAME_CHARS: usize = 128;
/// The largest number of characters of a server's words that are shown.
const MAX_SENTENCE_CHARS: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_deceive_the_eye_is_spelled_out() {
        assert_eq!(plain("a\u{1b}[2Kb\u{202e}c\r\n\u{e0041}", 99), "a\\u{1b}[2Kb\\u{202e}c\\r\n\\u{e0041}");
        assert_eq!(plain("Grüße 你好", 99), "Grüße 你好");
    }

    #[test]
    fn what_is_long_is_cut_and_the_cut_is_told() {
        assert_eq!(plain("abcdef", 4), "abcd… (2 more characters are not shown)");
    }
}
