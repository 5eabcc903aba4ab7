//! The lists of words in `lists.txt`, by which calls are checked against a scope.

use std::sync::LazyLock;

use crate::words::{WordLists, word_lists};

static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("lists.txt")));

/// Returns whether `word` is in the list with this heading.
pub(super) fn is_in(heading: &str, word: &str) -> bool {
    LISTS[heading].contains(&word)
}
