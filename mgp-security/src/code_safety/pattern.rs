//! Tokens of code in the form in which interpreters read them, and the search for declared patterns of them.

use std::borrow::Cow;
use std::ops::Range;

use mgp_types::mgp::SafetyLevel;
use unicode_normalization::UnicodeNormalization;

use super::Findings;

/// A piece of code that a declaration blocks, like `eval(` (§7.3).
///
/// A pattern is compared token by token, so that space between tokens does not matter and neither comments nor strings
/// contain it. A pattern without tokens to compare, like a piece with quotes, is searched for as it is written.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// The pattern as it was declared.
    pub(super) text: Box<str>,
    tokens: Box<[Box<str>]>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let is_tokens = !text.contains(['\'', '"', '`', '#']);
        let tokens =
            if is_tokens { split_tokens(text).map(|token| plain(token).into()).collect() } else { [].into() };
        Self { text: text.into(), tokens }
    }

    /// Returns the dotted name that the pattern blocks, if it is one, with or without a call.
    pub(super) fn dotted(&self) -> &str {
        self.text.trim_end_matches('(').trim()
    }

    /// Searches for the pattern in `tokens`, or in `text` if the pattern has no tokens, and returns its place.
    pub(super) fn find(&self, tokens: &[Token<'_>], text: &str) -> Option<usize> {
        if self.tokens.is_empty() {
            let wanted = self.text.trim();
            return (!wanted.is_empty()).then(|| text.find(wanted)).flatten();
        }
        tokens
            .windows(self.tokens.len())
            .find(|window| window.iter().zip(&self.tokens).all(|(token, wanted)| token.text == **wanted))
            .map(|window| window[0].at)
    }
}

/// One token of code, and the byte where it starts.
pub(super) struct Token<'c> {
    pub(super) text: Cow<'c, str>,
    pub(super) at: usize,
}

/// Returns the tokens of `text`, which starts at the byte `at`.
pub(super) fn tokens_of(text: &str, at: usize) -> impl Iterator<Item = Token<'_>> {
    let start = text.as_ptr() as usize;
    split_tokens(text)
        .map(move |token| Token { text: plain(token), at: at + (token.as_ptr() as usize - start) })
}

/// Returns the code with these bytes blanked out, but for the ends of lines.
pub(super) fn blanked(code: &str, ranges: impl Iterator<Item = Range<usize>>) -> String {
    let mut bytes = code.as_bytes().to_vec();
    for range in ranges {
        let end = range.end.min(bytes.len());
        if let Some(blank) = bytes.get_mut(range.start..end) {
            blank.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Records which of the declared `patterns` occur.
pub(super) fn find_declared(patterns: &[Pattern], tokens: &[Token<'_>], text: &str, findings: &mut Findings) {
    for pattern in patterns {
        if let Some(at) = pattern.find(tokens, text) {
            findings.pattern(SafetyLevel::Standard, &pattern.text, at);
        }
    }
}

/// Returns the name that an identifier stands for: Python reads `ｅｖａｌ` as `eval`, and JavaScript `\u0065val`.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && byte != b'\\') {
        return Cow::Borrowed(text);
    }
    if !text.contains("\\u") {
        return Cow::Owned(text.nfkc().collect());
    }
    let mut unescaped = String::new();
    unescape(text, &mut unescaped);
    Cow::Owned(unescaped.nfkc().collect())
}

/// Splits code into names, numbers and single punctuation characters, without the space between them.
pub(super) fn split_tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let end =
            if is_part(first) { rest.find(|c| !is_part(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '\\')
}

/// Decodes the escapes that JavaScript allows in names.
fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find("\\u") {
        out.push_str(&rest[..at]);
        rest = &rest[at + 2..];
        let braced = rest.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (digits, behind) = braced.unwrap_or_else(|| rest.split_at(rest.floor_char_boundary(4)));
        out.extend(u32::from_str_radix(digits, 16).ok().and_then(char::from_u32));
        rest = behind;
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, code: &str) -> bool {
        let tokens: Vec<_> = tokens_of(code, 0).collect();
        Pattern::new(pattern).find(&tokens, code).is_some()
    }

    // covers: MGP-7.3-07
    #[test]
    fn a_pattern_is_found_however_it_is_spaced() {
        assert!(found("eval(", "x = eval\t(\n'1')"));
        assert!(found("os.system", "os . system('id')"));
    }

    #[test]
    fn longer_names_are_no_pattern() {
        assert!(!found("eval(", "literal_eval(x)"));
        assert!(!found("os.system", "os.systematic()"));
    }

    #[test]
    fn a_pattern_with_quotes_is_searched_as_it_stands() {
        assert!(found("open('/", "open('/etc/hosts')"));
        assert!(!found("open('/", "open('etc/hosts')"));
    }

    #[test]
    fn a_name_in_other_letters_is_the_same_name() {
        for text in ["eval", "ｅｖａｌ", "𝘦𝘷𝘢𝘭", r"\u0065val", r"ev\u{61}l"] {
            assert_eq!(plain(text), "eval", "{text}");
        }
        assert_eq!(plain("_\u{ff3f}import__"), "__import__");
    }

    #[test]
    fn space_does_not_change_the_tokens() {
        let tokens = |text| split_tokens(text).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(tokens("os . system ("), tokens("os.system("));
        assert_eq!(tokens("a.b"), ["a", ".", "b"]);
    }
}
