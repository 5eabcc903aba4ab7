//! Lists of words in definitions, which tell the nature of arguments and what tools do, and the texts as plain words in
//! which they are searched for.
//!
//! The lists stand in `lexicon.txt` and contain all knowledge of such words;
//! [`ArgumentNatures`](super::ArgumentNatures) and `derive` draw the conclusions. `effects.txt` has the lists from which
//! validators tell what a single call does. Headings name the lists; `lexicon.txt` begins with what they do not tell.

use std::collections::HashMap;
use std::sync::LazyLock;

use mgp_types::mgp::CallEffect;

use super::nature::ArgumentNature::{self, Code, Command, Host, HttpMethod, Path, Sql, Text, Url};
use mgp_types::word_lists;

/// Returns the words or phrases of the list with this heading, in order.
pub(crate) fn list(heading: &str) -> impl Iterator<Item = &'static str> + use<> {
    LISTS[heading].iter().copied()
}

/// Returns whether `word` is in the list with this heading.
pub(crate) fn is_listed(heading: &str, word: &str) -> bool {
    LISTS[heading].contains(&word)
}

static LISTS: LazyLock<HashMap<&str, Vec<&str>, foldhash::fast::RandomState>> =
    LazyLock::new(|| FILES.into_iter().flat_map(word_lists).collect());

/// The files of the lists, no two of which have a heading in common.
const FILES: [&str; 2] = [include_str!("lexicon.txt"), include_str!("effects.txt")];

/// The natures that the last word of an argument's name suggests, each with the sign that has to confirm it, if any.
pub(super) const HEADS: &[(ArgumentNature, Option<&str>, &str)] = &[
    (Command, None, "name of command"),
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
pub(super) const OPENINGS: [ArgumentNature; 5] = [Path, Url, Command, Sql, Code];

/// The effects of calls that a phrase in the name of a tool tells, whatever its first verb is.
pub(super) const PHRASES: &[(CallEffect, &str)] = &[
    (CallEffect::GivesAccess, "phrase of a tool that gives access"),
    (CallEffect::GivesAccess, "phrase of a tool that reveals"),
    (CallEffect::Spends, "phrase of a tool that spends"),
    (CallEffect::Destroys, "phrase of a tool that destroys"),
    (CallEffect::Sends, "phrase of a tool that sends"),
    (CallEffect::Runs, "phrase of a tool that runs"),
];

/// A text in lower case, with single spaces around its words.
#[derive(Debug, Clone, Default)]
pub(super) struct NormalizedText(String);

impl NormalizedText {
    /// Reads the start of `text`; the rest says little about what a thing is.
    pub(super) fn of(text: &str) -> Self {
        let mut out = String::from(" ");
        for character in text.chars().take(MAX_CHARS) {
            if character.is_alphanumeric() {
                out.extend(character.to_lowercase());
            } else if !out.ends_with(' ') {
                out.push(' ');
            }
        }
        if !out.ends_with(' ') {
            out.push(' ');
        }
        Self(out)
    }

    /// Adds words at the end.
    pub(super) fn push(&mut self, words: &[String]) {
        for word in words {
            self.0.push_str(word);
            self.0.push(' ');
        }
    }

    /// Returns the words in order.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split_ascii_whitespace()
    }

    /// Returns whether the text contains one of the phrases of `sign`.
    pub(super) fn says(&self, sign: &str) -> bool {
        list(sign).any(|phrase| self.has(phrase))
    }

    /// Returns whether the text contains the words of `phrase` in a row; a `*` at its end stands for any ending.
    fn has(&self, phrase: &str) -> bool {
        let (phrase, whole) = phrase.strip_suffix('*').map_or((phrase, true), |start| (start, false));
        self.0.match_indices(phrase).any(|(at, found)| {
            let behind = self.0.as_bytes().get(at + found.len());
            at > 0 && self.0.as_bytes()[at - 1] == b' ' && (!whole || behind == Some(&b' '))
        })
    }
}

/// Returns the first sentence of `text`.
pub(super) fn first_sentence(text: &str) -> &str {
    let text = text.trim_start();
    let end = [". ", ".\n", "\n\n"].iter().filter_map(|end| text.find(end)).min();
    &text[..end.unwrap_or(text.len())]
}

/// Returns the description of the argument called `name` in documentation in the style of Python, as in `path (str):
/// The file`.
pub(super) fn documented<'a>(description: &'a str, name: &str) -> Option<&'a str> {
    description.lines().find_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '•', ' ', '`']);
        let rest = line.strip_prefix(name)?.trim_start_matches(['`', '*']);
        let (kind, said) = rest.split_once(':')?;
        let kind = kind.trim();
        (kind.is_empty() || (kind.starts_with('(') && kind.ends_with(')'))).then_some(said.trim())
    })
}

/// The largest number of characters of a text that are read.
const MAX_CHARS: usize = 600;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named::Named as _;
    use crate::tool::derive::NameManner;

    #[test]
    fn every_list_is_in_the_file() {
        let signs = HEADS.iter().filter_map(|(_, sign, _)| *sign);
        let tables = HEADS.iter().map(|(.., words)| *words).chain(signs);
        let manners = NameManner::NAMES.iter().map(|(words, _)| *words).filter(|words| !words.is_empty());
        let tables = tables.chain(manners);
        for heading in tables.chain(PHRASES.iter().map(|(_, words)| *words)) {
            assert!(list(heading).all(|word| !word.is_empty()), "{heading}");
        }
    }

    #[test]
    fn phrases_are_found_as_whole_words() {
        let prose = NormalizedText::of("The absolute path, on the\nserver's File-System.");
        assert!(prose.has("absolute path") && prose.has("file system") && prose.has("serv*"));
        assert!(!prose.has("solute path") && !prose.has("serv"));
    }

    #[test]
    fn docstrings_tell_of_arguments() {
        let text =
            "Reads a value.\n\nArgs:\n    name: The key.\n    path (str, optional): The JSON path: `$`.\n";
        assert_eq!(documented(text, "path"), Some("The JSON path: `$`."));
        assert_eq!(documented(text, "name"), Some("The key."));
        assert_eq!(documented(text, "nam"), None);
        assert_eq!(first_sentence(text), "Reads a value");
    }
}
