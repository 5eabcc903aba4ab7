//! Regular expressions that take little memory.
//!
//! A class such as `[^.]` stands for over a million characters, and its automaton is part of the pattern's as often as
//! the class is repeated. So an excluding class is compiled byte by byte: where it excludes only ASCII, that matches
//! the same texts, except that repetition bounds then count bytes.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes;

use crate::data_file::expression;

/// A pattern over folded text.
#[derive(Debug)]
pub(super) struct FoldedPattern(bytes::Regex);

impl FoldedPattern {
    /// Compiles a pattern of the data files. In it, `\b` is a word boundary in ASCII, which keeps texts of other scripts
    /// fast, and `BORDER` is a word boundary in any script.
    pub(super) fn new(pattern: &str) -> Self {
        let pattern = pattern.replace(r"\b", r"(?-u:\b)").replace("BORDER", r"\b");
        Self(bytes::Regex::new(&by_bytes(&pattern)).unwrap_or_else(|error| panic!("{error}")))
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }

    /// Returns the ranges of `text` that match.
    pub(super) fn find_iter<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.0.find_iter(text.as_bytes()).map(|found| whole(text, found.range()))
    }

    /// Returns the ranges of `text` that match, each with the range of its first group.
    pub(super) fn groups_iter(&self, text: &str) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        self.0.captures_iter(text.as_bytes()).filter_map(|groups| {
            Some((whole(text, groups.get(0)?.range()), whole(text, groups.get(1)?.range())))
        })
    }
}

/// Extends the range to whole characters at both ends.
fn whole(text: &str, found: Range<usize>) -> Range<usize> {
    text.floor_char_boundary(found.start)..text.ceil_char_boundary(found.end)
}

/// Returns the pattern with each class that excludes nothing but ASCII compiled byte by byte.
fn by_bytes(pattern: &str) -> String {
    PARTS
        .replace_all(pattern, |part: &regex::Captures<'_>| match &part[0] {
            class if class.starts_with("[^") && class.is_ascii() => format!("(?-u:{class})"),
            other => other.to_owned(),
        })
        .into_owned()
}

/// The escapes and classes of a pattern.
static PARTS: LazyLock<regex::Regex> = LazyLock::new(|| expression(r"\\.|\[(?:\\.|[^\]\\])*\]"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_classes_that_exclude_ascii_are_read_by_bytes() {
        for (pattern, expected) in [
            (r"a[^.]{0,3}b", r"a(?-u:[^.]){0,3}b"),
            (r"[^)\]]+\[[^ ]", r"(?-u:[^)\]])+\[(?-u:[^ ])"),
            (r"\[^.]", r"\[^.]"),
            (r"[.!?。] [^。] [a-z]", r"[.!?。] [^。] [a-z]"),
        ] {
            assert_eq!(by_bytes(pattern), expected);
        }
    }

    #[test]
    fn what_is_found_is_made_of_whole_characters() {
        let pattern = FoldedPattern::new("a([^.]{1,2})");
        let text = "aé aéé a語語";
        let found: Vec<_> = pattern.find_iter(text).map(|range| &text[range]).collect();
        assert_eq!(found, ["aé", "aé", "a語"]);
        let groups: Vec<_> = pattern.groups_iter(text).map(|(_, range)| &text[range]).collect();
        assert_eq!(groups, ["é", "é", "語"]);
    }
}
