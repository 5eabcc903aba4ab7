//! Comparison of texts by their words.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::ops::ControlFlow;

use foldhash::fast::FixedState;

use super::analysis::Analyser;

/// The set of words of a text: enough to tell whether two texts say nearly the same.
///
/// Of many words those with the lowest hashes are kept. All texts follow the same rule, so that the common part of two
/// sets estimates the common part of the texts, and for short texts it is exact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WordSketch {
    /// The hashes of words, in order, each once.
    words: Box<[u32]>,
}

/// Makes the gists of tools.
#[derive(Debug)]
pub(crate) struct SketchBuilder {
    analyser: Analyser,
    hasher: FixedState,
}

const MAX_KEPT: usize = 32;

/// The common share of words from which on texts say nearly the same, as numerator and denominator.
const NEARLY: (usize, usize) = (4, 5);

impl WordSketch {
    /// Returns whether the text has no word with a meaning.
    pub(crate) const fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether the texts have nearly the same words. Texts without words have nothing in common.
    pub(crate) fn is_nearly(&self, other: &Self) -> bool {
        // Most texts differ in their first words already: from so many different ones on they cannot be alike.
        let most = MAX_KEPT.min(self.words.len() + other.words.len());
        let too_different = most - (most * NEARLY.0).div_ceil(NEARLY.1);
        let (mut one, mut two) = (self.words.iter().peekable(), other.words.iter().peekable());
        let (mut all, mut both) = (0_usize, 0_usize);
        while all < MAX_KEPT && all - both <= too_different {
            let order = match (one.peek(), two.peek()) {
                (Some(one), Some(two)) => one.cmp(two),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            if order.is_le() {
                one.next();
            }
            if order.is_ge() {
                two.next();
            }
            all += 1;
            both += usize::from(order.is_eq());
        }
        all > 0 && both * NEARLY.1 >= all * NEARLY.0
    }

    /// Returns whether the text has all words of another one. For long texts this cannot be told.
    pub(crate) fn has_all_of(&self, other: &Self) -> bool {
        let is_whole = |gist: &Self| (1..MAX_KEPT).contains(&gist.words.len());
        is_whole(self)
            && is_whole(other)
            && other.words.iter().all(|word| self.words.binary_search(word).is_ok())
    }
}

const MAX_READ: usize = 300;

impl SketchBuilder {
    pub(crate) fn new() -> Self {
        Self { analyser: Analyser::new(), hasher: FixedState::default() }
    }

    /// Returns the gist of a tool by its name and its description. Numbers do not count: tools that differ in a number
    /// only are alike.
    pub(crate) fn of(&mut self, name: &str, description: &str) -> WordSketch {
        let (mut words, mut read) = (BTreeSet::new(), 0);
        for text in [name, description] {
            self.analyser.words(text, &mut |word, _| {
                if !word.bytes().all(|byte| byte.is_ascii_digit()) {
                    #[expect(clippy::cast_possible_truncation, reason = "a part of a hash is a hash")]
                    words.insert(self.hasher.hash_one(word) as u32);
                }
                read += 1;
                if read == MAX_READ { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        }
        WordSketch { words: words.into_iter().take(MAX_KEPT).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_near(one: (&str, &str), other: (&str, &str)) -> bool {
        let mut gists = SketchBuilder::new();
        gists.of(one.0, one.1).is_nearly(&gists.of(other.0, other.1))
    }

    #[test]
    fn repetition_order_and_numbers_make_no_difference() {
        let honest = ("read_file", "Read the contents of a file at a path");
        for other in [
            honest,
            ("read_file_7", "Read the contents of a file at a path"),
            ("read_file", "At a path: file contents, file contents! Read read read."),
            ("read_file", "Read the contents of a file at a path, safely"),
        ] {
            assert!(are_near(honest, other), "{other:?}");
        }
    }

    #[test]
    fn siblings_and_texts_that_hold_one_another_are_not_the_same() {
        for (one, other) in [
            (
                ("list_issues", "List the issues of a repository"),
                ("list_branches", "List the branches of a repository"),
            ),
            (("read_file", "Read a file"), ("write_file", "Write a file")),
            (("read", "Read a file"), ("convert", "Read a file of images and write it in another format")),
            (("", ""), ("", "")),
            (("1", "2"), ("1", "2")),
        ] {
            assert!(!are_near(one, other), "{one:?}, {other:?}");
        }
    }

    #[test]
    fn words_that_are_added_hide_no_copy() {
        let mut gists = SketchBuilder::new();
        let honest = gists.of("read_file", "Read the contents of a file");
        let copy = gists.of("read_file", "The best, fastest and official way: read the contents of a file");
        assert!(!copy.is_nearly(&honest));
        assert!(copy.has_all_of(&honest) && !honest.has_all_of(&copy));
        assert!(!copy.has_all_of(&gists.of("", "")));
    }

    #[test]
    fn long_texts_are_compared_by_a_part_of_their_words() {
        let text = |from: u32, to: u32| (from..to).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        assert!(are_near(("t", &text(0, 250)), ("t", &text(5, 255))));
        assert!(!are_near(("t", &text(0, 250)), ("t", &text(200, 450))));
    }
}
