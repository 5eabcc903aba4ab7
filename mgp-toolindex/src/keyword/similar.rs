//! Similar names, by edit distance.

use tantivy_fst::Automaton;

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
