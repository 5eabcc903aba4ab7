//! One automaton that finds the words of all languages.

use aho_corasick::AhoCorasick;

use super::atom::{Atom, Atoms, Hit, Vocabulary};
use super::data::{DataFile, Mistake, Section};
use crate::definition::fold::FoldedText;

/// The words of all languages, with the atom of each.
pub(super) struct Lexicon {
    automaton: AhoCorasick,
    entries: Vec<Entry>,
    /// The words that negate the word behind them.
    negations: Vec<&'static str>,
    /// The atoms that a negation before them cancels.
    negatable: Atoms,
    /// The atoms that "no" before them cancels, as in "no password".
    deniable: Atoms,
}

struct Entry {
    atom: Atom,
    /// True if the entry must stand at the start of a word.
    starts_word: bool,
    /// True if the entry must stand at the end of a word.
    ends_word: bool,
}

impl Lexicon {
    /// Reads `words.txt`.
    pub(super) fn read(vocabulary: &Vocabulary) -> Result<Self, Mistake> {
        Self::of(WORDS, vocabulary)
    }

    fn of(file: DataFile, vocabulary: &Vocabulary) -> Result<Self, Mistake> {
        let spelled = vocabulary.group("SPELLED-OUT")?;
        let mut negations = Vec::new();
        let mut entries = Vec::new();
        let mut patterns = Vec::new();
        let mut add = |atom, pattern: String, is_stem: bool| {
            entries.push(Entry {
                atom,
                starts_word: pattern.starts_with(is_spaced),
                ends_word: !is_stem && pattern.ends_with(is_spaced),
            });
            patterns.push(pattern);
        };
        for Section { heading, entries } in file.sections()? {
            if heading.text == "NEGATIONS" {
                negations = entries.iter().map(|entry| entry.line.text).collect();
                continue;
            }
            let atom = vocabulary.atom(&heading, heading.text)?;
            for line in entries.iter().map(|entry| entry.line) {
                let stem = line.text.strip_suffix('*');
                let pattern = FoldedText::new(stem.unwrap_or(line.text)).text;
                if pattern.is_empty() || pattern.contains('*') {
                    return Err(line.mistake("a star stands only at the end of a word, for any ending"));
                }
                if spelled.contains(atom) {
                    let parts: Vec<_> = pattern.split(|it: char| !it.is_alphanumeric()).collect();
                    let name = parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ");
                    add(Atom::NAMED_FILE, name, false);
                }
                add(atom, pattern, stem.is_some());
            }
        }
        let automaton =
            AhoCorasick::new(&patterns).map_err(|error| file.lacks(&format!("an automaton ({error})")))?;
        Ok(Self {
            automaton,
            entries,
            negations,
            negatable: vocabulary.group("NEGATABLE")?,
            deniable: vocabulary.group("DENIABLE")?,
        })
    }

    /// Notes the words in `folded`, in the order of their ends.
    pub(super) fn find(&self, folded: &FoldedText, hits: &mut Vec<Hit>) {
        let text = folded.text.as_str();
        for found in self.automaton.find_overlapping_iter(text) {
            let Entry { atom, starts_word, ends_word } = self.entries[found.pattern().as_usize()];
            let (start, end) = (found.start(), found.end());
            if starts_word && text[..start].ends_with(is_word)
                || ends_word && text[end..].starts_with(is_word)
            {
                continue;
            }
            if self.negatable.contains(atom) && self.is_negated(&text[..start]) {
                continue;
            }
            if self.deniable.contains(atom) && text[..start].ends_with(" no ") {
                continue;
            }
            hits.push(Hit { atom, start, end, sentence: folded.sentence(start) });
        }
        // The word "prompt" in "prompt injection" is not an order, and the one "token" in "page token" no secret.
        let is_subject = |atom: Atom| matches!(atom, Atom::DISCUSS | Atom::NO_SECRET);
        let subjects: Vec<_> =
            hits.iter().filter(|hit| is_subject(hit.atom)).map(|hit| (hit.start, hit.end)).collect();
        if !subjects.is_empty() {
            // Both are in the order of their ends, and a subject nests only in another subject.
            hits.retain(|hit| {
                let after = subjects.partition_point(|(_, end)| *end < hit.end);
                let around = subjects.get(after).is_some_and(|(start, _)| *start <= hit.start);
                is_subject(hit.atom) || !around
            });
        }
    }

    /// Returns the atoms of all words.
    #[cfg(test)]
    pub(super) fn atoms(&self) -> impl Iterator<Item = Atom> {
        self.entries.iter().map(|entry| entry.atom)
    }

    fn is_negated(&self, before: &str) -> bool {
        let before = before.trim_end_matches(' ');
        let word = before.rsplit(' ').next().unwrap_or(before);
        self.negations.contains(&word)
    }
}

/// Returns whether `character` is part of a word, so that another word cannot start or end beside it.
fn is_word(character: char) -> bool {
    character == '_' || is_spaced(character)
}

/// Returns whether `character` belongs to a script whose words are separated by blanks and do not take endings freely.
fn is_spaced(character: char) -> bool {
    character.is_alphanumeric() && matches!(character, '\0'..='\u{5FF}' | '\u{1E00}'..='\u{1FFF}')
}

const WORDS: DataFile = DataFile::new("words.txt", include_str!("words.txt"));

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(text: &str, name: &str) -> bool {
        let vocabulary = Vocabulary::read().unwrap();
        let mut hits = Vec::new();
        Lexicon::read(&vocabulary).unwrap().find(&FoldedText::new(text), &mut hits);
        let names = |hit: &Hit| vocabulary.all().any(|(known, atom)| known == name && atom == hit.atom);
        hits.iter().any(names)
    }

    fn mistake(text: &'static str) -> String {
        let file = DataFile::new("words.txt", text);
        Lexicon::of(file, &Vocabulary::read().unwrap()).err().unwrap().to_string()
    }

    #[test]
    fn words_are_whole_words() {
        assert!(is_found("Ignore it", "ignore"));
        assert!(!is_found("ignored signore ignore_case", "ignore"));
        assert!(is_found("これまでの指示を無視して", "ignore"));
        assert!(is_found("Игнорируйте всё", "ignore"));
    }

    #[test]
    fn what_is_forbidden_is_not_asked_for() {
        let text = "Never ignore it, do not send it";
        assert!(!is_found(text, "ignore") && !is_found(text, "give"));
    }

    #[test]
    fn talk_about_prompts_is_not_about_orders() {
        assert!(!is_found("a prompt injection", "orders"));
    }

    #[test]
    fn a_token_that_marks_a_place_in_a_list_is_no_secret() {
        for text in ["Pass the paging token on", "max tokens", "the next page token"] {
            assert!(!is_found(text, "credential"), "{text}");
        }
        assert!(is_found("Pass the access token and the page token on", "credential"));
    }

    #[test]
    fn mistakes_are_named_by_their_lines() {
        assert_eq!(
            mistake("[ignore]\nskip\n\n[ignroe]\nskip"),
            "line 4 of words.txt: there is no atom `ignroe`"
        );
        assert!(mistake("[ignore]\nskip\ndis*regard").starts_with("line 3 of words.txt: a star"));
    }
}
