//! The lists of words that the rules ask for, which stand in `words.txt`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use mgp_types::mgp::matches_stars;

/// Returns whether `word` is in the list `name` of the table, whose words may be patterns.
pub(in crate::validator) fn is_listed(name: &str, word: &str) -> bool {
    LISTS.get(name).is_some_and(|list| {
        list.words.contains(word) || list.patterns.iter().any(|pattern| fits(pattern, word))
    })
}

/// Returns whether `path` is in the list `name`, or lies below a folder that is.
pub(super) fn lies_in(name: &str, path: &str) -> bool {
    path.match_indices('/').map(|(at, _)| &path[..at]).chain([path]).any(|part| is_listed(name, part))
}

/// Returns whether `text` contains a word of the list `name`.
pub(super) fn holds_listed(name: &str, text: &str) -> bool {
    LISTS.get(name).is_some_and(|list| list.words.iter().any(|word| text.contains(word)))
}

/// Returns whether `pattern` matches a word of the list `name`.
pub(super) fn is_fitted(name: &str, pattern: &str) -> bool {
    LISTS.get(name).is_some_and(|list| list.words.iter().any(|word| fits(pattern, word)))
}

/// Returns the text that the list `name` has for `key`, in the form `key:text`.
pub(super) fn listed_text(name: &str, key: &str) -> Option<&'static str> {
    let list = LISTS.get(name)?;
    list.words.iter().find_map(|word| Some(word.split_once(':').filter(|(own, _)| *own == key)?.1))
}

/// Returns the name of a program in lower case, without its folder and, on Windows, its ending.
pub(in crate::validator) fn bare_name(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

/// Returns the lines of a table without comments.
pub(super) fn rows(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns whether `pattern` matches `text`: `*` matches any text, and `?` and brackets any byte.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    matches_stars(pattern, text, |pattern, byte| match pattern[0] {
        b'[' => Some(pattern.iter().position(|&b| b == b']').map_or(1, |end| end + 1)),
        sign => (sign == b'?' || sign == byte).then_some(1),
    })
}

#[derive(Debug, Default)]
struct List {
    words: HashSet<&'static str>,
    patterns: Vec<&'static str>,
}

static LISTS: LazyLock<HashMap<&'static str, List>> = LazyLock::new(|| {
    let mut lists = HashMap::<_, List>::new();
    for line in rows(include_str!("words.txt")) {
        if let Some((name, words)) = line.strip_prefix('@').and_then(|line| line.split_once(" : ")) {
            let (patterns, words): (Vec<_>, Vec<_>) =
                words.split_whitespace().partition(|word| word.contains('*'));
            let list = lists.entry(name).or_default();
            list.words.extend(words);
            list.patterns.extend(patterns);
        }
    }
    lists
});

/// Returns whether there is a list `name`.
#[cfg(test)]
pub(super) fn is_list(name: &str) -> bool {
    LISTS.contains_key(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_as_far_as_its_signs_say() {
        for (pattern, text) in [("a*c", "abbc"), ("a?c", "abc"), ("/etc/[ps]*", "/etc/passwd"), ("*", "")] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a*c", "abcd"), ("a?c", "ac"), ("[ab]", ""), ("", "a"), ("a", "A")] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn every_line_of_the_words_is_a_list() {
        let read = |line: &'static str| line.strip_prefix('@')?.split_once(" : ");
        let names: Vec<_> = rows(include_str!("words.txt")).map(read).collect();
        assert!(names.iter().all(Option::is_some), "{names:?}");
        assert!(names.into_iter().flatten().all(|(name, _)| is_list(name)));
    }
}
