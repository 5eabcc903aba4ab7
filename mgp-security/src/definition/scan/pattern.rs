//! Regular expressions that take little memory, and lists of words and patterns that take megabytes once they are
//! compiled, and are freed while no text is scanned.
//!
//! A class such as `[^.]` stands for over a million characters, and its automaton is part of the pattern's as often as
//! the class is repeated. So an excluding class is compiled byte by byte: where it excludes only ASCII, that matches
//! the same texts, except that repetition bounds then count bytes.

use std::mem;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
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

/// A list of words or patterns, compiled when a text is scanned and not before, and once more after it was freed.
pub(super) struct CompiledList<T> {
    read: fn() -> T,
    loaded: Mutex<LoadedList<T>>,
}

struct LoadedList<T> {
    list: Option<Arc<T>>,
    /// True if the list was asked for since unused lists were freed last.
    is_used: bool,
}

impl<T> CompiledList<T> {
    pub(super) const fn new(read: fn() -> T) -> Self {
        Self { read, loaded: Mutex::new(LoadedList { list: None, is_used: false }) }
    }

    pub(super) fn get(&self) -> Arc<T> {
        let mut loaded = self.loaded.lock();
        loaded.is_used = true;
        Arc::clone(loaded.list.get_or_insert_with(|| Arc::new((self.read)())))
    }

    /// Frees the list if nobody asked for it since this was called last. Texts that are being scanned keep theirs.
    pub(super) fn free_unused(&self) {
        let mut loaded = self.loaded.lock();
        if !mem::take(&mut loaded.is_used) {
            loaded.list = None;
        }
    }
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
        let pattern = FoldedPattern::new("a([^.]{1,2})");
        let text = "aé aéé a語語";
        let found: Vec<_> = pattern.find_iter(text).map(|range| &text[range]).collect();
        assert_eq!(found, ["aé", "aé", "a語"]);
        let groups: Vec<_> = pattern.groups_iter(text).map(|(_, range)| &text[range]).collect();
        assert_eq!(groups, ["é", "é", "語"]);
    }

    #[test]
    fn a_list_is_freed_when_it_was_not_used_and_read_again_when_it_is() {
        let list = CompiledList::new(|| vec!["word"]);
        let in_use = list.get();
        list.free_unused();
        assert!(Arc::ptr_eq(&in_use, &list.get()), "it was used before");
        list.free_unused();
        list.free_unused();
        assert_eq!(Arc::strong_count(&in_use), 1, "only the text that is scanned has it");
        assert!(!Arc::ptr_eq(&in_use, &list.get()) && list.get() == in_use);
    }
}
