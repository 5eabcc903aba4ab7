//! Texts: as lenient programs read them, as people see them, and bytes as hexadecimal digits.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// Returns the name as the most lenient reader of names takes it.
///
/// The folded name has no capitals, no full-width or other compatibility forms (NFKC), no white space and no invisible
/// characters, and it ends at the first NUL, where programs in C stop reading. Lenient readers differ: Go takes `ſ` for
/// `s` and the Kelvin sign for `k`; Java takes `ı` and `İ` for `i`.
///
/// ```
/// use mgp_types::folded;
///
/// assert_eq!(folded("isError"), "iserror");
/// assert_eq!(folded("ＩｓＥrror\u{200b} "), "iserror");
/// assert_eq!(folded("argument\u{17f}"), "arguments");
/// ```
pub fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let read = name.split('\0').next().unwrap_or_default();
    let visible = |character: &char| !is_hidden(*character) && !character.is_whitespace();
    // Capitals come first, because some small letters have a common capital.
    let upper = read.nfkc().filter(visible).flat_map(char::to_uppercase);
    let lower = upper.flat_map(char::to_lowercase).nfkc();
    // The lower case of `İ` leaves this combining dot behind.
    Cow::Owned(lower.filter(|character| *character != '\u{307}').filter(visible).collect())
}

/// Returns whether a person who reads a text does not see this character, or reads its neighbours otherwise because of
/// it: characters that a terminal acts upon, line breaks included, characters without width or ink, characters that
/// turn the direction of writing, tags and selectors.
///
/// Some hidden characters are harmless: emoji and some scripts need a few. A program that shows a text to somebody who
/// decides by it spells the hidden characters out.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the text as one word of a command, in quotes if a shell would read it otherwise. [Hidden](is_hidden)
/// characters are spelled out.
///
/// ```
/// use mgp_types::shell_word;
///
/// assert_eq!(shell_word("git.status"), "git.status");
/// assert_eq!(shell_word("it's"), r"'it'\''s'");
/// ```
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut word = String::with_capacity(text.len() + 2);
    word.push('\'');
    for c in text.chars() {
        match c {
            '\'' => word.push_str(r"'\''"),
            c if is_hidden(c) => word.extend(c.escape_unicode()),
            c => word.push(c),
        }
    }
    word.push('\'');
    word
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Returns bytes as hexadecimal digits in lower case, as many as there is room for.
///
/// ```
/// assert_eq!(&mgp_types::hex(&[0x0f, 0xa0]), b"0fa0");
/// ```
pub fn hex<const LEN: usize>(bytes: &[u8]) -> [u8; LEN] {
    let mut digits = [0; LEN];
    let (pairs, _) = digits.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(bytes) {
        *pair = [byte >> 4, byte & 0xF].map(|nibble| DIGITS[usize::from(nibble)]);
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_lenient_reader_takes_for_another_read_alike() {
        let reads_alike = |one, other| folded(one) == folded(other);
        for name in [
            "Arguments", "ARGUMENTS", "argument\u{17f}", "\u{ff41}rguments", "arguments ", "\targuments",
            "argu\u{200b}ments", "arguments\0x", "\u{1d41a}rguments",
        ] {
            assert!(reads_alike(name, "arguments"), "{name:?}");
        }
        assert!(reads_alike("progressTo\u{212a}en", "progressToken"));
        assert!(reads_alike("ur\u{131}", "uri") && reads_alike("ur\u{130}", "uri"));
        assert!(reads_alike("GRÖSSE", "größe"));
        for name in ["argument", "argumentss", "arg_uments", "\0arguments", "árguments"] {
            assert!(!reads_alike(name, "arguments"), "{name:?}");
        }
    }

    #[test]
    fn what_is_not_seen_is_told_from_what_is() {
        let hidden = "\u{1b}\n\u{ad}\u{200b}\u{202e}\u{2800}\u{3164}\u{fe0f}\u{e0041}\u{e0100}";
        assert!(hidden.chars().all(is_hidden));
        assert!(!"Grüße 你好 ¿ ⚠ \u{a0}".chars().any(is_hidden));
    }
}
