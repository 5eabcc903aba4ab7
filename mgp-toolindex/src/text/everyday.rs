//! Everyday words, the words that tools have for them, and words without a meaning of their own, of which the English
//! ones are data, `function_words.txt`.
//!
//! A word in the name of a tool is not translated, because the tools at hand speak it. Keyword searches, and
//! capabilities that programs name, are taken as they are.
//!
//! People who do not know the tools do not know their words: they say "ticket" where a tool says "issue". The list of
//! such words is data, `everyday.txt`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use foldhash::fast::RandomState;

/// An everyday phrase, in lower case with single spaces, and the words that tools have for it.
static EVERYDAY: LazyLock<HashMap<String, &'static str, RandomState>> =
    LazyLock::new(|| read(include_str!("everyday.txt")).collect());

/// The number of words in what is said at most.
const LONGEST_PHRASE: usize = 6;

/// The bytes of a text that are read.
const MAX_READ: usize = 4096;

/// Returns a text with the words that tools have for what it says, which are added at its end; `None` if there are none.
///
/// A single word that is part of a tool's name, which `is_in_a_name` tells, is a word of tools already.
pub(crate) fn in_words_of_tools(text: &str, is_in_a_name: impl Fn(&str) -> bool) -> Option<String> {
    let said = words(&text[..text.floor_char_boundary(MAX_READ)]);
    let mut added: Vec<&str> = Vec::new();
    let mut rest = &said[..];
    while !rest.is_empty() {
        let found = (1..=rest.len().min(LONGEST_PHRASE)).rev().find_map(|length| {
            let phrase = rest[..length].join(" ");
            let meant = EVERYDAY.get(&phrase).or_else(|| EVERYDAY.get(phrase.strip_suffix('s')?))?;
            Some((length, *meant))
        });
        let (length, meant) = found.unwrap_or((1, ""));
        if !meant.is_empty() && (length > 1 || !is_in_a_name(&rest[0])) {
            for word in meant.split(' ') {
                if !added.contains(&word) && !said.iter().any(|said| said == word) {
                    added.push(word);
                }
            }
        }
        rest = &rest[length..];
    }
    (!added.is_empty()).then(|| format!("{text} ({})", added.join(" ")))
}

/// Reads lines of `said | said = words`.
fn read(list: &'static str) -> impl Iterator<Item = (String, &'static str)> {
    let entries =
        list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    entries.flat_map(|(said, meant)| said.split(" | ").map(move |said| (words(said).join(" "), meant)))
}

/// Returns the words of a text in lower case. An apostrophe or a point within a word belongs to it.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '.');
    let words = words.map(|word| word.trim_matches(['\'', '.'])).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

static FUNCTION_WORDS: LazyLock<HashSet<&str, RandomState>> = LazyLock::new(|| {
    let lines = include_str!("function_words.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| line.split(' ')).collect()
});

/// Returns whether a word, in lower case, tells nothing about the use of a tool.
pub(super) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains(word)
}

const PARTICLES: [char; 17] =
    ['的', '了', '吗', '呢', '吧', '请', '我', '你', '您', '们', '這', '这', '是', '在', '嗎', '請', '們'];

/// Returns whether a Chinese character stands between words, or in words without a meaning of their own.
pub(super) fn is_particle(c: char) -> bool {
    PARTICLES.contains(&c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn none(_: &str) -> bool {
        false
    }

    #[test]
    fn what_people_say_is_said_in_the_words_of_tools_too() {
        let said = |text| in_words_of_tools(text, none);
        assert_eq!(said("Give the ticket to Anna.").unwrap(), "Give the ticket to Anna. (issue)");
        assert_eq!(said("all TICKETS of mine").unwrap(), "all TICKETS of mine (issue)");
        assert_eq!(said("read a file"), None);
        assert_eq!(said(""), None);
    }

    #[test]
    fn the_longest_phrase_counts() {
        let found = in_words_of_tools("the text message", none).unwrap();
        assert_eq!(found, "the text message (send)");
    }

    #[test]
    fn a_word_that_a_tool_is_named_by_is_not_translated() {
        assert_eq!(in_words_of_tools("all open tickets", |word| word == "tickets"), None);
    }

    #[test]
    fn the_list_is_read_whole_and_has_nothing_twice() {
        let lines =
            include_str!("everyday.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut phrases = std::collections::HashSet::new();
        for line in lines {
            let (said, meant) = line.split_once(" = ").unwrap_or_else(|| panic!("no ` = ` in `{line}`"));
            assert!(!meant.trim().is_empty(), "{line}");
            for said in said.split(" | ") {
                let words = words(said);
                assert!((1..=LONGEST_PHRASE).contains(&words.len()), "{said}");
                assert!(phrases.insert(words.join(" ")), "{said} is there twice");
            }
        }
        assert_eq!(phrases.len(), EVERYDAY.len());
    }

    proptest! {
        #[test]
        fn a_text_is_added_to_and_not_changed(text in "(\\PC{0,20}|ticket|e-mail |how |folder ){0,12}") {
            if let Some(more) = in_words_of_tools(&text, none) {
                prop_assert!(more.starts_with(&text));
            }
        }
    }
}
