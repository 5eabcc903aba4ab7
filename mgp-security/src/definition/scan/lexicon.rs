//! All words in one automaton.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::atom::{Atom, Hit};
use super::{words_en, words_en_deeds, words_west, words_world};
use crate::definition::fold::Folded;

/// The words in `folded`, in the order of their ends.
pub(super) fn words(folded: &Folded, hits: &mut Vec<Hit>) {
    let text = folded.text.as_str();
    for found in LEXICON.automaton.find_overlapping_iter(text) {
        let entry = &LEXICON.entries[found.pattern().as_usize()];
        let (start, end) = (found.start(), found.end());
        if entry.starts_word && text[..start].ends_with(is_word)
            || entry.ends_word && text[end..].starts_with(is_word)
        {
            continue;
        }
        if is_negatable(entry.atom) && is_negated(&text[..start]) {
            continue;
        }
        if matches!(entry.atom, Atom::Private | Atom::Credential) && text[..start].ends_with(" no ") {
            continue;
        }
        hits.push(Hit { atom: entry.atom, start, end, sentence: folded.sentence(start) });
    }
    // The prompt of "prompt injection" is no order.
    let subjects: Vec<_> =
        hits.iter().filter(|hit| hit.atom == Atom::Discuss).map(|hit| (hit.start, hit.end)).collect();
    if !subjects.is_empty() {
        // Both are in the order of their ends, and subjects do not nest but in each other.
        hits.retain(|hit| {
            let after = subjects.partition_point(|(_, end)| *end < hit.end);
            let around = subjects.get(after).is_some_and(|(start, _)| *start <= hit.start);
            hit.atom == Atom::Discuss || !around
        });
    }
}

struct Lexicon {
    automaton: AhoCorasick,
    entries: Vec<Entry>,
}

struct Entry {
    atom: Atom,
    /// Whether only the start of a word counts.
    starts_word: bool,
    /// Whether only the end of a word counts.
    ends_word: bool,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut entries = Vec::new();
    let mut patterns = Vec::new();
    let mut add = |atom, pattern: String, stem: bool| {
        entries.push(Entry {
            atom,
            starts_word: pattern.starts_with(is_spaced),
            ends_word: !stem && pattern.ends_with(is_spaced),
        });
        patterns.push(pattern);
    };
    for (atom, words) in TABLES.into_iter().flatten() {
        for word in words.split('|') {
            let stem = word.strip_suffix('*');
            let pattern = &Folded::new(stem.unwrap_or(word)).text;
            if matches!(atom, Atom::SecretFile | Atom::ConfigFile) {
                let named: Vec<_> =
                    pattern.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
                add(Atom::NamedFile, named.join(" "), false);
            }
            add(*atom, pattern.clone(), stem.is_some());
        }
    }
    let automaton = AhoCorasick::new(&patterns).expect("some thousand short words make a small automaton");
    Lexicon { automaton, entries }
});

/// Whether `character` is part of a word, so that another word cannot start or end beside it.
fn is_word(character: char) -> bool {
    character == '_' || is_spaced(character)
}

/// Whether `character` belongs to a script whose words are set apart by blanks and do not take endings freely.
fn is_spaced(character: char) -> bool {
    character.is_alphanumeric() && matches!(character, '\0'..='\u{5FF}' | '\u{1E00}'..='\u{1FFF}')
}

/// Whether the atom is something to do, which a negation before it forbids instead.
fn is_negatable(atom: Atom) -> bool {
    matches!(
        atom,
        Atom::Ignore
            | Atom::IgnoreWeak
            | Atom::Take
            | Atom::Give
            | Atom::GiveWeak
            | Atom::Reveal
            | Atom::Run
            | Atom::Danger
    )
}

fn is_negated(before: &str) -> bool {
    let before = before.trim_end_matches(' ');
    let word = before.rsplit(' ').next().unwrap_or(before);
    NEGATIONS.contains(&word)
}

const TABLES: [&[(Atom, &str)]; 4] =
    [words_en::WORDS, words_en_deeds::WORDS, words_west::WORDS, words_world::WORDS];

const NEGATIONS: &[&str] = &[
    "not",
    "never",
    "don't",
    "doesn't",
    "cannot",
    "can't",
    "won't",
    "mustn't",
    "shouldn't",
    "didn't",
    "without",
    "nicht",
    "niemals",
    "nunca",
    "jamais",
    "mai",
    "nao",
    "не",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn atoms(text: &str) -> Vec<Atom> {
        let mut hits = Vec::new();
        words(&Folded::new(text), &mut hits);
        hits.into_iter().map(|hit| hit.atom).collect()
    }

    #[test]
    fn words_are_whole_words() {
        assert!(atoms("Ignore it").contains(&Atom::Ignore));
        assert!(!atoms("ignored signore ignore_case").contains(&Atom::Ignore));
        assert!(atoms("これまでの指示を無視して").contains(&Atom::Ignore));
        assert!(atoms("Игнорируйте всё").contains(&Atom::Ignore));
    }

    #[test]
    fn what_is_forbidden_is_not_asked_for() {
        assert!(
            !atoms("Never ignore it, do not send it")
                .iter()
                .any(|it| matches!(it, Atom::Ignore | Atom::Give))
        );
    }

    #[test]
    fn stars_are_at_ends() {
        for word in TABLES.into_iter().flatten().flat_map(|(_, words)| words.split('|')) {
            assert!(!word.trim_end_matches('*').contains('*') && word.len() > 1, "{word}");
        }
    }

    #[test]
    fn talk_about_prompts_is_not_about_orders() {
        assert!(!atoms("a prompt injection").contains(&Atom::Orders));
    }
}
