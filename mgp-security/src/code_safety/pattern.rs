//! Declared patterns of code, and the search for them.

use std::ops::Range;

use mgp_types::mgp::SafetyLevel;

use super::identifier::{plain, split_tokens};
use super::{Findings, Tree};

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
    pub(super) text: std::borrow::Cow<'c, str>,
    pub(super) at: usize,
}

/// Returns the tokens of `text`, which starts at the byte `at`.
pub(super) fn tokens_of(text: &str, at: usize) -> impl Iterator<Item = Token<'_>> {
    let start = text.as_ptr() as usize;
    split_tokens(text)
        .map(move |token| Token { text: plain(token), at: at + (token.as_ptr() as usize - start) })
}

/// Returns the tokens of a tree, without comments and strings.
pub(super) fn tree_tokens(tree: &Tree) -> Vec<Token<'_>> {
    tree.nodes()
        .filter(|node| node.descendants().next().is_none() && !IS_TEXT.contains(&node.kind()))
        .flat_map(|node| tokens_of(node.text(), node.at()))
        .collect()
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

/// The kinds of leaves, in all grammars, that are not code.
const IS_TEXT: [&str; 14] = [
    "comment", "line_continuation", "html_comment", "string_start", "string_content", "string_end",
    "escape_sequence", "escape_interpolation", "string_fragment", "regex_pattern", "jsx_text", "\"", "'",
    "`",
];

#[cfg(test)]
mod tests {
    use super::super::syntax::Grammar;
    use super::*;

    fn found(pattern: &str, code: &str) -> bool {
        let tree = Tree::parse(Grammar::Python, "", code, "").unwrap();
        Pattern::new(pattern).find(&tree_tokens(&tree), code).is_some()
    }

    // covers: MGP-7.3-07
    #[test]
    fn a_pattern_is_found_however_it_is_spaced() {
        assert!(found("eval(", "x = eval\t(\n'1')"));
        assert!(found("os.system", "os . system('id')"));
        assert!(found("os.system", "os.\\\n system('id')"));
    }

    #[test]
    fn comments_texts_and_longer_names_are_no_pattern() {
        assert!(!found("eval(", "# eval(\nx = 'eval('\nliteral_eval(x)"));
        assert!(!found("os.system", "os.systematic()"));
    }

    #[test]
    fn a_pattern_with_quotes_is_searched_as_it_stands() {
        assert!(found("open('/", "open('/etc/hosts')"));
        assert!(!found("open('/", "open('etc/hosts')"));
    }
}
