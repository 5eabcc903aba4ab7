use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

use crate::is_hidden;

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

/// Returns whether a lenient reader may take one name for the other.
pub fn reads_alike(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_graphic());
    if plain(one) && plain(other) {
        return one.eq_ignore_ascii_case(other);
    }
    folded(one) == folded(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_lenient_reader_takes_for_another_read_alike() {
        for name in [
            "Arguments",
            "ARGUMENTS",
            "argument\u{17f}",
            "\u{ff41}rguments",
            "arguments ",
            "\targuments",
            "argu\u{200b}ments",
            "arguments\0x",
            "\u{1d41a}rguments",
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
}
