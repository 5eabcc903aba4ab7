//! Lists of words in definitions: they tell the nature of arguments, and what tools do.
//!
//! The lists stand in `lexicon.txt` and contain all knowledge of such words;
//! [`ArgumentNatures`](super::ArgumentNatures) and `derive` draw the conclusions.

use std::sync::LazyLock;

use super::derive::NameManner;
use super::nature::ArgumentNature::{self, Code, Command, Host, HttpMethod, Path, Sql, Text, Url};
use crate::words::{WordLists, word_lists};

/// Returns the words or phrases of the list with this heading in `lexicon.txt`, in order.
pub(super) fn list(heading: &str) -> &'static [&'static str] {
    &LISTS[heading]
}

/// Returns whether `word` is in the list with this heading.
pub(super) fn is_in(heading: &str, word: &str) -> bool {
    list(heading).contains(&word)
}

static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("lexicon.txt")));

/// The natures that the last word of an argument's name suggests, each with the sign that has to confirm it, if any.
pub(super) const HEADS: &[(ArgumentNature, Option<&str>, &str)] = &[
    (Command, None, "name of command"),
    (Command, Some("sign of command-line"), "name of command, by command-line"),
    (Command, Some("sign of terminal"), "name of command, by terminal"),
    (Code, None, "name of code"),
    (Code, Some("sign of language"), "name of code, by language"),
    (Sql, None, "name of sql"),
    (Sql, Some("sign of sql"), "name of sql, by sql"),
    (Url, None, "name of url"),
    (Host, None, "name of host"),
    (Path, None, "name of path"),
    (HttpMethod, None, "name of http-method"),
    (Text, None, "name of text"),
];

/// The natures that the first telling word of a description gives an argument.
pub(super) const OPENINGS: &[(ArgumentNature, &str)] = &[
    (Path, "opening of path"),
    (Url, "opening of url"),
    (Host, "opening of host"),
    (Command, "opening of command"),
    (Sql, "opening of sql"),
    (Code, "opening of code"),
];

/// The manners of tools, by a word of the tool's name or at the start of its description.
pub(super) const MANNERS: &[(NameManner, &str)] = &[
    (NameManner::Reads, "verb that reads"),
    (NameManner::Writes, "verb that writes"),
    (NameManner::Destroys, "verb that destroys"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_in_the_file() {
        let signs = HEADS.iter().filter_map(|(_, sign, _)| *sign);
        let tables = HEADS.iter().map(|(.., words)| *words).chain(OPENINGS.iter().map(|(_, words)| *words));
        let tables = tables.chain(MANNERS.iter().map(|(_, words)| *words)).chain(signs);
        let sources = [include_str!("nature.rs"), include_str!("derive.rs")];
        let quoted = sources.iter().flat_map(|source| source.split(['"', '\n']));
        let named = quoted.filter(|text| text.starts_with("sign of ") || text.starts_with("list of "));
        for heading in tables.chain(named) {
            assert!(list(heading).iter().all(|word| !word.is_empty()), "{heading:?}");
        }
    }
}
