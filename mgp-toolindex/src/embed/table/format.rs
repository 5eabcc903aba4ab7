//! The file format of a table of word vectors.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `MGPTABL1` |
//! | 32 | SHA-256 of all that follows |
//! | 4, 4 | pieces; how many of them, the first, start words |
//! | 2, 2 | members of a vector; members that one code stands for |
//! | 4 | the length of a vector for what the table does not know |
//! | 4 | bytes of the words |
//! | 256 × members of a code × 4 | what each code stands for |
//! | 2 a piece | the length its vector is multiplied with, as the upper half of a float |
//! | members ÷ members of a code, a piece | the codes of its vector |
//! | the rest | the words: letters shared with the word before, letters of its own, those letters |
//!
//! Numbers are little-endian. The pieces that start words come in ascending order, then those that continue a word.

use std::array;

use super::pieces::TablePieces;

/// The table of word vectors that is part of the crate.
#[derive(Debug)]
pub(super) struct WordTable {
    pub(super) pieces: TablePieces,
    /// The hash of the table, which names it.
    pub(super) digest: [u8; 32],
    pub(super) dimension: usize,
    /// The length of a vector for unknown words.
    pub(super) stranger: f32,
    /// The members for which each code stands.
    pub(super) codebook: Box<[[f32; WIDTH]]>,
    pub(super) scales: Box<[f32]>,
    /// The codes of all pieces: `dimension / WIDTH` for each.
    pub(super) codes: &'static [u8],
}

/// The number of vector members for which a code stands.
pub(super) const WIDTH: usize = 2;

/// The number of codes: a code is a byte.
pub(super) const CODES: usize = 256;

impl WordTable {
    /// Reads the table.
    ///
    /// # Panics
    /// The bytes are not those of a table: a test reads the very bytes that the crate has.
    pub(super) fn read(file: &'static [u8]) -> Self {
        let mut bytes = Reader(file);
        assert_eq!(&bytes.array(), b"MGPTABL1", "the crate has a table of word vectors");
        let digest = bytes.array();
        let (pieces, starting) = (bytes.size(), bytes.size());
        let (dimension, width) = (usize::from(bytes.short()), usize::from(bytes.short()));
        assert_eq!(width, WIDTH, "a code stands for as many members as the code expects");
        let stranger = bytes.float();
        let _bytes_of_words = bytes.size();
        let codebook = (0..CODES).map(|_| array::from_fn(|_| bytes.float())).collect();
        let scales = (0..pieces).map(|_| f32::from_bits(u32::from(bytes.short()) << 16)).collect();
        let codes = bytes.take(pieces * (dimension / WIDTH));
        let pieces = bytes.words(pieces, starting);
        Self { pieces, digest, dimension, stranger, codebook, scales, codes }
    }
}

/// The bytes that are still to be read.
struct Reader(&'static [u8]);

impl Reader {
    fn take(&mut self, count: usize) -> &'static [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let taken = self.take(N);
        array::from_fn(|at| taken[at])
    }

    fn short(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    fn size(&mut self) -> usize {
        u32::from_le_bytes(self.array()) as usize
    }

    fn float(&mut self) -> f32 {
        f32::from_le_bytes(self.array())
    }

    fn words(mut self, pieces: usize, starting: usize) -> TablePieces {
        let (mut letters, mut ends, mut last) = (String::new(), Vec::with_capacity(pieces), Vec::new());
        for _ in 0..pieces {
            let [shared, own] = self.array().map(usize::from);
            last.truncate(shared);
            last.extend_from_slice(self.take(own));
            letters.extend(last.iter().copied().map(char::from));
            ends.push(letters.len());
        }
        // The table is read once, for as long as the program runs.
        TablePieces::new(letters.leak(), &ends, starting)
    }
}
