//! The lists of words that the checks of reading ask for, which stand in `words.txt`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use mgp_types::mgp::matches_stars;

/// Returns whether `word` is in the list `name` of the table, whose words may be patterns.
pub(super) fn is_listed(name: &str, word: &str) -> bool {
    LISTS.get(name).is_some_and(|list| {
        let fits =
            |pattern: &&str| matches_stars(pattern, word, |pattern, byte| (pattern[0] == byte).then_some(1));
        list.words.contains(word) || list.patterns.iter().any(fits)
    })
}

#[derive(Debug, Default)]
struct List {
    words: HashSet<&'static str>,
    patterns: Vec<&'static str>,
}

static LISTS: LazyLock<HashMap<&'static str, List>> = LazyLock::new(|| {
    let lines =
        include_str!("words.txt").lines().filter_map(|line| line.strip_prefix('@')?.split_once(" : "));
    let list = |words: &'static str| {
        let (patterns, words): (Vec<_>, Vec<_>) =
            words.split_whitespace().partition(|word| word.contains('*'));
        List { words: words.into_iter().collect(), patterns }
    };
    lines.map(|(name, words)| (name, list(words))).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_words_is_a_list_of_its_own() {
        let lines =
            include_str!("words.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(lines.count(), LISTS.len());
    }
}
