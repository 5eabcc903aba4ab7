//! Search by the names of tools, also by similar ones.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;
use tantivy::index::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;
use tantivy_fst::Automaton;

use super::KeywordReader;
use crate::slot::Slot;
use crate::text::{NameCandidate, called};

/// The number of names of a part that are looked at in each way.
const MAX_ROUGH: usize = 128;

/// The bytes of a beginning at least; a shorter one tells nothing.
const SHORTEST_BEGINNING: usize = 3;

/// The exactness of a name of which almost nothing was given.
const BEGINNING: f32 = 0.5;

/// The exactness of a similar name at most, and of a whole name by its beginning.
const ROUGH: f32 = 0.95;

impl KeywordReader {
    /// Returns the tools that are called by a text, or nearly so, the most exact first; 1 is a name as it is. Of a
    /// sentence the name has to be a good part, unless it is spelled as names are.
    pub(crate) fn named(
        &self,
        text: &str,
        limit: usize,
        fits: &mut dyn FnMut(Slot) -> bool,
    ) -> Vec<(Slot, f32)> {
        let mut matches = Vec::new();
        for called in called(text) {
            let before = matches.len();
            self.exactly(&called, &mut matches);
            if called.roughly && matches.len() == before {
                self.roughly(&called, &mut matches);
            }
        }
        matches.sort_by(|a, b| b.exact.total_cmp(&a.exact));
        let mut found: HashMap<Slot, f32, RandomState> = HashMap::default();
        for one in &matches {
            if found.len() >= limit {
                break;
            }
            self.bearers(one, limit, &mut found, fits);
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found
    }

    fn exactly<'a>(&'a self, called: &NameCandidate, matches: &mut Vec<Match<'a>>) {
        for (part, opened) in self.parts.iter().enumerate() {
            for names in [&opened.ids, &opened.names] {
                // An index in memory can always be read.
                if let Ok(Some(term)) = names.terms().get(&called.name) {
                    matches.push(Match { part, names, term, exact: called.sure });
                }
            }
        }
    }

    /// Adds names that begin with the text, and similar names.
    #[expect(clippy::cast_precision_loss, reason = "short names")]
    fn roughly<'a>(&'a self, called: &NameCandidate, matches: &mut Vec<Match<'a>>) {
        let name = called.name.as_bytes();
        let similar = FuzzyMatcher::to(&called.name);
        for (part, opened) in self.parts.iter().enumerate() {
            let names = &opened.names;
            let mut left = MAX_ROUGH;
            let beginning = names.terms().range().ge(name).into_stream().ok();
            if let Some(mut terms) = beginning.filter(|_| name.len() >= SHORTEST_BEGINNING) {
                while left > 0 && terms.advance() && terms.key().starts_with(name) {
                    left -= 1;
                    let share = name.len() as f32 / terms.key().len() as f32;
                    let exact = called.sure * (BEGINNING + (ROUGH - BEGINNING) * share);
                    matches.push(Match { part, names, term: terms.value().clone(), exact });
                }
            }
            let Some(similar) = &similar else { continue };
            let Ok(mut terms) = names.terms().search(similar).into_stream() else { continue };
            let mut left = MAX_ROUGH;
            while left > 0 && terms.advance() {
                left -= 1;
                let Some(changes) = similar.changes(terms.key()) else { continue };
                let exact = called.sure * ROUGH * (1.0 - changes as f32 / name.len() as f32);
                matches.push(Match { part, names, term: terms.value().clone(), exact });
            }
        }
    }

    fn bearers(
        &self,
        one: &Match<'_>,
        limit: usize,
        found: &mut HashMap<Slot, f32, RandomState>,
        fits: &mut dyn FnMut(Slot) -> bool,
    ) {
        let docs = one.names.read_block_postings_from_terminfo(&one.term, IndexRecordOption::Basic);
        let Ok(mut docs) = docs else { return };
        while !docs.docs().is_empty() {
            for slot in docs.docs().iter().filter_map(|doc| self.slot(one.part, *doc)) {
                if found.len() == limit {
                    return;
                }
                if let Entry::Vacant(vacant) = found.entry(slot)
                    && fits(slot)
                {
                    vacant.insert(one.exact);
                }
            }
            docs.advance();
        }
    }
}

/// A name that tools of a part have.
struct Match<'a> {
    part: usize,
    names: &'a InvertedIndexReader,
    term: TermInfo,
    exact: f32,
}

/// Matches terms that are a name after few changes: a letter inserted, removed or replaced.
///
/// The automaton runs along the dictionary and keeps, for each number of changes, the set of matched prefix lengths as
/// bits. So it costs nothing to make, unlike a table of states.
pub(crate) struct FuzzyMatcher {
    length: u32,
    most: usize,
    /// The positions in the name at which each byte stands.
    has: Box<[u64; 256]>,
}

/// The length of a name at most, so that all lengths fit into the bits.
const LONGEST: usize = 40;

const SHORTEST: usize = 4;

/// The length from which on two changes leave a name recognisable.
const LONG: usize = 6;

const MAX_CHANGES: usize = 2;

impl FuzzyMatcher {
    /// Creates the automaton; `None` if the name is too short or too long to be guessed at, or not ASCII, in which
    /// alone each letter is a byte.
    pub(crate) fn to(name: &str) -> Option<Self> {
        if !(SHORTEST..=LONGEST).contains(&name.len()) || !name.is_ascii() {
            return None;
        }
        let mut has = Box::new([0; 256]);
        for (at, byte) in name.bytes().enumerate() {
            has[usize::from(byte)] |= 1 << at;
        }
        let most = if name.len() < LONG { 1 } else { MAX_CHANGES };
        Some(Self { length: u32::try_from(name.len()).ok()?, most, has })
    }

    /// Returns the number of changes from the term to the name, if they are few.
    pub(crate) fn changes(&self, term: &[u8]) -> Option<usize> {
        let state = term.iter().fold(self.start(), |state, byte| self.accept(&state, *byte));
        state[..=self.most].iter().position(|lengths| lengths >> self.length & 1 == 1)
    }
}

impl Automaton for FuzzyMatcher {
    type State = [u64; MAX_CHANGES + 1];

    fn start(&self) -> Self::State {
        [0b1, 0b11, 0b111]
    }

    fn is_match(&self, state: &Self::State) -> bool {
        state[self.most] >> self.length & 1 == 1
    }

    fn can_match(&self, state: &Self::State) -> bool {
        state[self.most] != 0
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        let (has, within) = (self.has[usize::from(byte)], (2 << self.length) - 1);
        let mut next = [0; MAX_CHANGES + 1];
        next[0] = (state[0] & has) << 1;
        for n in 1..=self.most {
            let more = state[n - 1];
            let other = state[n - 1] << 1;
            let less = next[n - 1] << 1;
            next[n] = ((state[n] & has) << 1 | more | other | less) & within;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the distance by the usual algorithm, as a reference.
    fn distance(a: &[u8], b: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut before = std::mem::replace(&mut row[0], i + 1);
            for (j, y) in b.iter().enumerate() {
                let here = (before + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
                before = std::mem::replace(&mut row[j + 1], here);
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn changes_are_counted_as_by_the_usual_way(name in "[abc]{4,12}", term in "[abc]{0,14}") {
            let similar = FuzzyMatcher::to(&name).unwrap();
            let expected = Some(distance(name.as_bytes(), term.as_bytes())).filter(|d| *d <= similar.most);
            prop_assert_eq!(similar.changes(term.as_bytes()), expected);
            let end = term.bytes().fold(similar.start(), |state, byte| similar.accept(&state, byte));
            prop_assert_eq!(similar.is_match(&end), expected.is_some());
        }
    }

    #[test]
    fn names_that_cannot_be_guessed_at_are_not() {
        assert!(FuzzyMatcher::to("cat").is_none());
        assert!(FuzzyMatcher::to(&"a".repeat(41)).is_none());
        assert!(FuzzyMatcher::to("検索検索").is_none());
        assert_eq!(FuzzyMatcher::to(&"a".repeat(40)).unwrap().changes(&[b'a'; 39]), Some(1));
    }
}
