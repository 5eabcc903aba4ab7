//! The analysis of text into words, and the stems of English ones.

use std::collections::HashMap;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;
use frostem::{Algorithm, Stemmer};

use super::everyday::{is_function_word, is_particle};
use super::fold::fold;
use super::script::Script;

/// Finds the words of texts. Indexed texts and queries are treated alike, so that equal words meet.
#[derive(Debug)]
pub(crate) struct Analyser {
    stems: WordStems,
    folded: String,
    word: String,
}

/// The bytes of buffers that are kept from one text to the next.
const KEPT_BYTES: usize = 4096;

/// The number of words up to which a name counts as one word too; longer ones are not written as one.
const MAX_JOINED: usize = 3;

/// The bytes of a word that count.
const LONGEST_WORD: usize = 40;

/// The bytes of a text that are read.
const LONGEST_TEXT: usize = 32 * 1024;

impl Analyser {
    pub(crate) fn new() -> Self {
        Self { stems: WordStems::new(), folded: String::new(), word: String::new() }
    }

    /// Gives each word of a text to `each`, with its weight (up to 1), until that breaks.
    pub(crate) fn words(&mut self, text: &str, each: &mut dyn FnMut(&str, f32) -> ControlFlow<()>) {
        let mut folded = std::mem::take(&mut self.folded);
        fold(cut(text, LONGEST_TEXT), &mut folded);
        let _wanted =
            runs(
                &folded,
                |run, script| {
                    if script.is_dense() { dense(run, script, each) } else { self.spaced(run, each) }
                },
            );
        folded.clear();
        folded.shrink_to(KEPT_BYTES);
        self.folded = folded;
    }

    /// Analyses a run of letters and digits: a word, or several as in `readFile2`. Then the run counts as one word too,
    /// because `GitHub` is one to people who write `github`.
    fn spaced(&mut self, run: &str, each: &mut dyn FnMut(&str, f32) -> ControlFlow<()>) -> ControlFlow<()> {
        let mut parts = 0;
        for part in WordParts(run) {
            parts += 1;
            if part.len() < run.len() && is_single(part) {
                continue;
            }
            self.word(part, each)?;
        }
        if (2..=MAX_JOINED).contains(&parts) { self.word(run, each) } else { ControlFlow::Continue(()) }
    }

    fn word(&mut self, part: &str, each: &mut dyn FnMut(&str, f32) -> ControlFlow<()>) -> ControlFlow<()> {
        self.word.clear();
        for c in cut(part, LONGEST_WORD).chars().filter(|c| Script::of(*c) != Script::Apostrophe) {
            if c.is_ascii() {
                self.word.push(c.to_ascii_lowercase());
            } else {
                self.word.extend(c.to_lowercase());
            }
        }
        self.stems.stem(&mut self.word);
        if self.word.is_empty() { ControlFlow::Continue(()) } else { each(&self.word, 1.0) }
    }
}

/// Analyses a run of a script without gaps between words: pieces of a fixed length take the place of words.
fn dense(run: &str, script: Script, each: &mut dyn FnMut(&str, f32) -> ControlFlow<()>) -> ControlFlow<()> {
    let piece = if script == Script::Unspaced { 3 } else { 2 };
    let ends = || run.char_indices().map(|(at, _)| at).chain([run.len()]);
    if ends().nth(piece).is_none() {
        return each(run, 1.0);
    }
    for (from, to) in ends().zip(ends().skip(piece)) {
        each(&run[from..to], says(&run[from..to]))?;
    }
    for (at, c) in run.char_indices().filter(|(_, c)| Script::of(*c) == Script::Han && !is_particle(*c)) {
        each(&run[at..at + c.len_utf8()], 0.3)?;
    }
    ControlFlow::Continue(())
}

/// Returns the weight of a piece of dense script: a pair of Han characters is mostly a word, kana alone mostly an
/// ending.
fn says(piece: &str) -> f32 {
    if piece.chars().any(is_particle) {
        return 0.2;
    }
    let count = |script| piece.chars().filter(|c| Script::of(*c) == script).count();
    match (count(Script::Hiragana), count(Script::Katakana)) {
        (0, 0) => 1.0,
        (0, _) => 0.7,
        (1, _) => 0.3,
        _ => 0.1,
    }
}

/// Cuts a text into runs of characters that belong together.
fn runs(text: &str, mut each: impl FnMut(&str, Script) -> ControlFlow<()>) -> ControlFlow<()> {
    let (mut start, mut within) = (0, Script::Gap);
    for (at, c) in text.char_indices() {
        let script = Script::of(c);
        // Japanese words go on from Han characters to kana, so that these are one run.
        if script.joins(within) {
            continue;
        }
        if within != Script::Gap {
            each(&text[start..at], within)?;
        }
        (start, within) = (at, script);
    }
    if within == Script::Gap { ControlFlow::Continue(()) } else { each(&text[start..], within) }
}

/// The words that are written together in a run, separated by case or digits.
struct WordParts<'a>(&'a str);

impl<'a> Iterator for WordParts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let run = self.0;
        let mut chars = run.char_indices().peekable();
        let (_, mut before) = chars.next()?;
        let mut capitals = usize::from(before.is_uppercase());
        while let Some((at, c)) = chars.next() {
            let after = chars.peek().map(|(_, after)| *after);
            if ends(before, c, after, capitals) {
                self.0 = &run[at..];
                return Some(&run[..at]);
            }
            capitals = if c.is_uppercase() { capitals + 1 } else { 0 };
            before = c;
        }
        self.0 = "";
        Some(run)
    }
}

/// Returns whether a word ends before `c`; `capitals` is the number of capitals in a row there.
fn ends(before: char, c: char, after: Option<char>, capitals: usize) -> bool {
    if Script::of(before) == Script::Apostrophe || Script::of(c) == Script::Apostrophe {
        return false;
    }
    if (Script::of(before) == Script::Digit) != (Script::of(c) == Script::Digit) {
        return true;
    }
    // In `HTTPServer` the last capital belongs to the next word; `URLs` and `OAuth` are one word.
    let new_word = capitals > 1 && after.is_some_and(|after| after.is_lowercase() && after != 's');
    c.is_uppercase() && (before.is_lowercase() || new_word)
}

fn is_single(part: &str) -> bool {
    part.len() == 1 && !part.as_bytes()[0].is_ascii_digit()
}

/// Returns the beginning of a text, no longer than `bytes`.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Appends a word to a text, behind a space unless it is the first.
pub(crate) fn push_word(text: &mut String, word: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(word);
}

/// The words of a query, each once, with its weight.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct QueryWords {
    pub(crate) terms: Vec<Term>,
}

/// A word in its indexed form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    pub(crate) text: Box<str>,
    pub(crate) weight: f32,
}

/// The number of words in a query; more do not make it clearer.
const MAX_TERMS: usize = 64;

impl QueryWords {
    /// Returns the words of a text. Of a long text the first words count.
    pub(crate) fn of(text: &str) -> Self {
        let mut terms: Vec<Term> = Vec::new();
        Analyser::new().words(text, &mut |word, weight| {
            if !terms.iter().any(|term| *term.text == *word) {
                terms.push(Term { text: word.into(), weight });
            }
            if terms.len() == MAX_TERMS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        Self { terms }
    }
}

/// Removes endings of words, so that `files` finds `file`, and words without a meaning of their own. Results are
/// remembered, because a few words are most of every text.
pub(super) struct WordStems {
    stemmer: Stemmer,
    /// The stems of known words; empty for words without a meaning of their own.
    known: HashMap<Box<str>, Box<str>, RandomState>,
}

const MAX_KNOWN: usize = 16_384;

/// The length of a word at least; shorter words have no endings.
const SHORTEST: usize = 3;

impl WordStems {
    pub(super) fn new() -> Self {
        Self { stemmer: Stemmer::new(Algorithm::English), known: HashMap::default() }
    }

    /// Reduces a word in lower case to its stem. Words that cannot be English stay as they are. Words without a meaning
    /// of their own become empty.
    pub(super) fn stem(&mut self, word: &mut String) {
        if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return;
        }
        if let Some(stem) = self.known.get(word.as_str()) {
            word.clear();
            word.push_str(stem);
            return;
        }
        let stem: Box<str> = match word.as_str() {
            none if is_function_word(none) => "".into(),
            short if short.len() < SHORTEST => short.into(),
            word => self.stemmer.stem(word).into(),
        };
        if self.known.len() == MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(word.as_str().into(), stem.clone());
        word.clear();
        word.push_str(&stem);
    }
}

mgp_types::partial_debug!(WordStems, self => known: self.known.len());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_become_one() {
        let mut stems = WordStems::new();
        for _ in 0..2 {
            let mut word = String::from("searching");
            stems.stem(&mut word);
            assert_eq!(word, "search");
        }
        let mut word = String::from("größe");
        stems.stem(&mut word);
        assert_eq!(word, "größe");
    }
}
