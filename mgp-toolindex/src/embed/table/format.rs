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

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::pieces::{LONGEST_KNOWN, WordPieces};

/// The reason why bytes are not a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The bytes do not start as a table does.
    #[error("not a table of word vectors")]
    NotATable,
    /// The length differs from the length that the header tells.
    #[error("the table is {found} bytes long instead of {expected}")]
    Length {
        /// The length by the header, in bytes.
        expected: usize,
        /// The actual length, in bytes.
        found: usize,
    },
    /// The hash of the contents does not match.
    #[error("the table was changed after it was written")]
    Changed,
    /// The contents are invalid.
    #[error("the table holds {0} that cannot be")]
    Impossible(&'static str),
}

/// A table as its file holds it.
#[derive(Debug)]
pub(super) struct WordTable {
    pub(super) pieces: WordPieces,
    /// The hash of the file, which names the table.
    pub(super) digest: [u8; 32],
    pub(super) dimension: usize,
    /// The number of vector members for which a code stands.
    pub(super) width: usize,
    /// The length of a vector for unknown words.
    pub(super) stranger: f32,
    /// The members for which the codes stand: `width` each.
    pub(super) codebook: Box<[f32]>,
    pub(super) scales: Box<[f32]>,
    /// The codes of all pieces: `dimension / width` for each.
    pub(super) codes: Bytes,
}

const MAX_PIECES: usize = 1 << 20;
const MAX_WORDS_BYTES: usize = MAX_PIECES * (2 + LONGEST_KNOWN);
const MAX_DIMENSION: usize = 1 << 12;

/// The number of codes: a code is a byte.
pub(super) const CODES: usize = 256;

const HASHED_FROM: usize = 40;
const MAGIC: [u8; 8] = *b"MGPTABL1";

impl WordTable {
    /// Reads a table; the memory beside the bytes is in proportion to them.
    pub(super) fn read(file: &Bytes) -> Result<Self, TableError> {
        let mut bytes = Reader { bytes: file, at: 0 };
        if bytes.array::<8>()? != MAGIC {
            return Err(TableError::NotATable);
        }
        let digest = bytes.array()?;
        let (pieces, starting) = (bytes.size()?, bytes.size()?);
        let (dimension, width) = (usize::from(bytes.short()?), usize::from(bytes.short()?));
        let stranger = bytes.float()?;
        let words = bytes.size()?;
        if width == 0 || dimension == 0 || dimension % width != 0 || dimension > MAX_DIMENSION {
            return Err(TableError::Impossible("a dimension"));
        }
        if pieces > MAX_PIECES || starting > pieces {
            return Err(TableError::Impossible("a number of words"));
        }
        let codes = pieces * (dimension / width);
        let expected = bytes.at + 4 * CODES * width + 2 * pieces + codes + words.min(MAX_WORDS_BYTES);
        if file.len() != expected {
            return Err(TableError::Length { expected, found: file.len() });
        }
        if <[u8; 32]>::from(Sha256::digest(&file[HASHED_FROM..])) != digest {
            return Err(TableError::Changed);
        }
        let codebook = (0..CODES * width).map(|_| bytes.float()).collect::<Result<_, _>>()?;
        let scales = (0..pieces)
            .map(|_| finite(f32::from_bits(u32::from(bytes.short()?) << 16)))
            .collect::<Result<_, _>>()?;
        let codes = file.slice(bytes.at..bytes.at + codes);
        bytes.at += codes.len();
        let pieces = read_words(bytes, pieces, starting)?;
        Ok(Self { pieces, digest, dimension, width, stranger, codebook, scales, codes })
    }
}

/// Reads the words at the end of the file.
fn read_words(mut bytes: Reader<'_>, pieces: usize, starting: usize) -> Result<WordPieces, TableError> {
    let mut letters = String::new();
    let mut ends = Vec::with_capacity(pieces);
    let mut last = String::new();
    for number in 0..pieces {
        let first_of_its_kind = number == 0 || number == starting;
        let (shared, own) = (usize::from(bytes.byte()?), usize::from(bytes.byte()?));
        let own = bytes.take(own)?;
        let is_letter = |letter: &u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if shared > last.len() || shared + own.len() > LONGEST_KNOWN || !own.iter().all(is_letter) {
            return Err(TableError::Impossible("a word"));
        }
        let mut word = last[..shared].to_owned();
        word.extend(own.iter().map(|&letter| char::from(letter)));
        if word.is_empty() || (!first_of_its_kind && word <= last) {
            return Err(TableError::Impossible("words out of order"));
        }
        letters.push_str(&word);
        // The numbers of pieces and letters are small enough for it.
        ends.push(u32::try_from(letters.len()).map_err(|_| TableError::Impossible("a number of words"))?);
        last = word;
    }
    if bytes.at != bytes.bytes.len() {
        return Err(TableError::Impossible("bytes after the last word"));
    }
    Ok(WordPieces::new(letters.into(), ends.into(), starting))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], TableError> {
        let expected = self.at.saturating_add(count);
        let found = self.bytes.len();
        let taken = self.bytes.get(self.at..expected).ok_or(TableError::Length { expected, found })?;
        self.at = expected;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TableError> {
        let taken = self.take(N)?;
        Ok(array::from_fn(|at| taken[at]))
    }

    fn byte(&mut self) -> Result<u8, TableError> {
        self.array().map(|[byte]| byte)
    }

    fn short(&mut self) -> Result<u16, TableError> {
        self.array().map(u16::from_le_bytes)
    }

    fn size(&mut self) -> Result<usize, TableError> {
        let size = u32::from_le_bytes(self.array()?);
        usize::try_from(size).map_err(|_| TableError::Impossible("a size"))
    }

    fn float(&mut self) -> Result<f32, TableError> {
        finite(f32::from_le_bytes(self.array()?))
    }
}

/// The largest number in a table, so that sums of many and of their squares are finite.
const LARGEST: f32 = 1e6;

fn finite(number: f32) -> Result<f32, TableError> {
    if number.abs() <= LARGEST { Ok(number) } else { Err(TableError::Impossible("a number")) }
}
