//! The words and parts of words for which a table has vectors.

use foldhash::fast::FixedState;
use std::hash::BuildHasher;

use super::words;

/// Finds the pieces of which words consist.
#[derive(Debug)]
pub(super) struct WordPieces {
    /// All pieces, one behind the other.
    letters: Box<str>,
    /// The end of each piece in `letters`.
    ends: Box<[u32]>,
    /// The number of pieces that start words; the others continue one.
    starting: usize,
    /// A hash table of piece numbers, with free places between.
    places: Box<[u32]>,
}

/// The length of a piece at most, in letters.
pub(super) const LONGEST_KNOWN: usize = 24;

const FREE: u32 = u32::MAX;

impl WordPieces {
    /// Creates the index of pieces, of which the first `starting` start words; `ends` rise to the length of `letters`.
    pub(super) fn new(letters: Box<str>, ends: Box<[u32]>, starting: usize) -> Self {
        // Half of the places stay free, so that a search for an unknown piece ends soon.
        let mut places = vec![FREE; (ends.len() * 2).next_power_of_two().max(2)].into_boxed_slice();
        let mut start = 0;
        for (number, &end) in (0u32..).zip(&ends) {
            let place = PiecePosition::of(number as usize >= starting);
            let piece = &letters[start as usize..end as usize];
            let mut at = slot(piece, place, places.len());
            while places[at] != FREE {
                at = (at + 1) % places.len();
            }
            places[at] = number;
            start = end;
        }
        Self { letters, ends, starting, places }
    }

    /// Gives the numbers of a Latin run's pieces to `take`.
    ///
    /// A run that is known as a whole, such as `GitHub`, is one piece; others fall into their humps, and those into the
    /// longest known pieces. Letters without a piece are left out, and so are unknown numbers: their digits would mean
    /// nothing.
    pub(super) fn split(&self, run: &str, mut take: impl FnMut(u32)) {
        let mut small = [0; LONGEST_KNOWN];
        if let Some(whole) = lower(run, &mut small)
            && let Some(piece) = self.find(whole, PiecePosition::Start)
        {
            take(piece);
            return;
        }
        if run.bytes().all(|letter| letter.is_ascii_digit()) {
            return;
        }
        for hump in words::humps(run) {
            self.split_hump(hump, &mut take);
        }
    }

    fn split_hump(&self, hump: &str, take: &mut impl FnMut(u32)) {
        let mut small = [0; LONGEST_KNOWN];
        let mut rest = hump;
        let mut position = PiecePosition::Start;
        while !rest.is_empty() {
            let window = &rest[..rest.len().min(LONGEST_KNOWN)];
            let Some(window) = lower(window, &mut small) else { return };
            let found = (1..=window.len())
                .rev()
                .find_map(|length| Some((length, self.find(&window[..length], position)?)));
            let covered = match found {
                Some((length, piece)) => {
                    take(piece);
                    position = PiecePosition::Within;
                    length
                }
                None => 1,
            };
            rest = &rest[covered..];
        }
    }

    fn find(&self, piece: &str, position: PiecePosition) -> Option<u32> {
        let mut at = slot(piece, position, self.places.len());
        loop {
            let number = self.places[at];
            if number == FREE {
                return None;
            }
            let index = number as usize;
            if PiecePosition::of(index >= self.starting) == position && self.letters_of(index) == piece {
                return Some(number);
            }
            at = (at + 1) % self.places.len();
        }
    }

    fn letters_of(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.letters[start as usize..self.ends[index] as usize]
    }
}

/// The position of a piece in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PiecePosition {
    Start,
    Within,
}

impl PiecePosition {
    fn of(goes_on: bool) -> Self {
        if goes_on { Self::Within } else { Self::Start }
    }
}

/// Returns the first place to look for a piece. The number of places is a power of two.
#[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
fn slot(piece: &str, position: PiecePosition, places: usize) -> usize {
    let seed = match position {
        PiecePosition::Start => 0x5354_4152,
        PiecePosition::Within => 0x5749_5448,
    };
    FixedState::with_seed(seed).hash_one(piece) as usize & (places - 1)
}

/// Returns ASCII letters in lower case, unless there are more than fit.
fn lower<'a>(run: &str, into: &'a mut [u8; LONGEST_KNOWN]) -> Option<&'a str> {
    let into = into.get_mut(..run.len())?;
    into.copy_from_slice(run.as_bytes());
    into.make_ascii_lowercase();
    std::str::from_utf8(into).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(starting: &[&str], within: &[&str]) -> WordPieces {
        let mut letters = String::new();
        let ends = starting.iter().chain(within).map(|piece| {
            letters.push_str(piece);
            u32::try_from(letters.len()).unwrap()
        });
        let ends = ends.collect();
        WordPieces::new(letters.into(), ends, starting.len())
    }

    fn split(pieces: &WordPieces, run: &str) -> Vec<u32> {
        let mut found = Vec::new();
        pieces.split(run, |piece| found.push(piece));
        found
    }

    #[test]
    fn a_run_known_as_a_whole_is_one_piece() {
        let pieces = pieces(&["git", "github", "hub"], &[]);
        assert_eq!(split(&pieces, "GitHub"), [1]);
        assert_eq!(split(&pieces, "HubGit"), [2, 0]);
    }

    #[test]
    fn the_longest_pieces_are_taken_from_the_front() {
        let pieces = pieces(&["re", "rep"], &["o", "os", "s"]);
        assert_eq!(split(&pieces, "repos"), [1, 3]);
        assert_eq!(split(&pieces, "reos"), [0, 3]);
    }

    #[test]
    fn a_piece_within_words_starts_none() {
        let pieces = pieces(&["a"], &["b"]);
        assert_eq!(split(&pieces, "ab"), [0, 1]);
        assert_eq!(split(&pieces, "ba"), [0]);
    }

    #[test]
    fn what_no_piece_covers_is_left_out_however_long() {
        let pieces = pieces(&["a"], &["b"]);
        assert_eq!(split(&pieces, &"z".repeat(1000)), [0; 0]);
        assert_eq!(split(&pieces, &format!("{}a", "z".repeat(1000))), [0]);
        assert_eq!(split(&pieces, "2026"), [0; 0]);
        assert_eq!(split(&WordPieces::new("".into(), Box::default(), 0), "a"), [0; 0]);
    }
}
