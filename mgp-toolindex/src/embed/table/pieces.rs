//! The words and parts of words for which a table has vectors.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::words;

/// Finds the pieces of which words consist.
#[derive(Debug)]
pub(super) struct TablePieces {
    /// The numbers of the pieces that start words.
    starts: StaticPieceNumbers,
    /// The numbers of the pieces that continue words.
    within: StaticPieceNumbers,
}

type StaticPieceNumbers = HashMap<&'static str, u32, FixedState>;

/// The length of a piece at most, in letters.
pub(super) const LONGEST_KNOWN: usize = 24;

impl TablePieces {
    /// Creates the index of pieces, of which the first `starting` start words; `ends` rise to the length of `letters`.
    pub(super) fn new(letters: &'static str, ends: &[usize], starting: usize) -> Self {
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let mut pieces = begins.zip(ends).map(|(begin, end)| &letters[begin..*end]).zip(0..);
        Self { starts: pieces.by_ref().take(starting).collect(), within: pieces.collect() }
    }

    /// Gives the numbers of a Latin run's pieces to `take`.
    ///
    /// A run that is known as a whole, such as `GitHub`, is one piece; others fall into their humps, and those into the
    /// longest known pieces. Letters without a piece are left out, and so are unknown numbers: their digits would mean
    /// nothing.
    pub(super) fn split(&self, run: &str, mut take: impl FnMut(u32)) {
        let mut small = [0; LONGEST_KNOWN];
        if let Some(whole) = lower(run, &mut small)
            && let Some(piece) = self.starts.get(whole)
        {
            take(*piece);
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
        let mut known = &self.starts;
        while !rest.is_empty() {
            let window = &rest[..rest.len().min(LONGEST_KNOWN)];
            let Some(window) = lower(window, &mut small) else { return };
            let found =
                (1..=window.len()).rev().find_map(|length| Some((length, *known.get(&window[..length])?)));
            let covered = match found {
                Some((length, piece)) => {
                    take(piece);
                    known = &self.within;
                    length
                }
                None => 1,
            };
            rest = &rest[covered..];
        }
    }
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

    fn pieces(starting: &[&str], within: &[&str]) -> TablePieces {
        let mut letters = String::new();
        let ends = starting.iter().chain(within).map(|piece| {
            letters.push_str(piece);
            letters.len()
        });
        let ends: Vec<usize> = ends.collect();
        TablePieces::new(letters.leak(), &ends, starting.len())
    }

    fn split(pieces: &TablePieces, run: &str) -> Vec<u32> {
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
        assert_eq!(split(&TablePieces::new("", &[], 0), "a"), [0; 0]);
    }
}
