//! Regular expressions that take little memory.
//!
//! A class such as `[^.]` stands for over a million characters, and its automaton is part of the pattern's as often as
//! the class is repeated. So an excluding class is compiled byte by byte: where it excludes only ASCII, that matches
//! the same texts, except that repetition bounds then count bytes.

use std::ops::Range;

use regex::bytes::Regex;

/// A pattern over folded text.
pub(super) struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern. In it, `\b` is a word boundary in ASCII, which keeps texts of other scripts fast, and
    /// `BORDER` is a word boundary in any script.
    ///
    /// # Errors
    /// Fails if the pattern is malformed.
    pub(super) fn new(pattern: &str) -> Result<Self, regex::Error> {
        let pattern = pattern.replace(r"\b", r"(?-u:\b)").replace("BORDER", r"\b");
        let pattern = by_bytes(&pattern);
        Regex::new(&pattern).map(Self)
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }

    /// Returns the ranges of `text` that match.
    pub(super) fn find_iter<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.0.find_iter(text.as_bytes()).map(|found| whole(text, found.range()))
    }

    /// Returns the ranges of `text` that match, each with the range of its first group.
    pub(super) fn groups_iter<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + 'a {
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
    let mut out = String::with_capacity(pattern.len() * 2);
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '[' => class(rest),
            other => other.len_utf8(),
        };
        let (part, behind) = rest.split_at(length);
        if part.starts_with("[^") && part.is_ascii() {
            out.extend(["(?-u:", part, ")"]);
        } else {
            out.push_str(part);
        }
        rest = behind;
    }
    out
}

/// Returns the length in bytes of the class that `pattern` starts with.
fn class(pattern: &str) -> usize {
    let mut is_escaped = false;
    let end = pattern.find(|character| {
        let ends = character == ']' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        ends
    });
    end.map_or(pattern.len(), |end| end + 1)
}

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
        let pattern = Pattern::new("a([^.]{1,2})").unwrap();
        let text = "aé aéé a語語";
        let found: Vec<_> = pattern.find_iter(text).map(|range| &text[range]).collect();
        assert_eq!(found, ["aé", "aé", "a語"]);
        let groups: Vec<_> = pattern.groups_iter(text).map(|(_, range)| &text[range]).collect();
        assert_eq!(groups, ["é", "é", "語"]);
    }
}
