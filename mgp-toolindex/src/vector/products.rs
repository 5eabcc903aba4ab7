//! Scores of chunks, by vector instructions.

#![expect(clippy::inline_always, reason = "the vector instructions reach only what is inlined")]

use pulp::Arch;
#[cfg(target_arch = "x86_64")]
use pulp::{cast, i32x8, x86::V3};

use super::chunk::{Chunk, QueryVector, ROWS};

/// The rows of a chunk, and the places of their scores for one query after the other. Rows without a vector keep what is
/// there. All queries have `dimension` numbers.
pub(super) struct ScoredRows<'a> {
    pub(super) chunk: &'a Chunk,
    pub(super) dimension: usize,
    pub(super) queries: &'a [QueryVector],
    pub(super) scores: &'a mut [f32],
}

impl ScoredRows<'_> {
    /// Computes the scores with the vector instructions that this machine has.
    pub(super) fn score(self, arch: Arch) {
        #[cfg(target_arch = "x86_64")]
        match arch {
            Arch::V4(simd) => return simd.vectorize(WideRows(*simd, self)),
            Arch::V3(simd) => return simd.vectorize(WideRows(simd, self)),
            _ => {}
        }
        arch.dispatch(|| self.by_compiler());
    }

    /// Leaves the instructions to the compiler.
    #[inline(always)]
    fn by_compiler(self) {
        for (query, scores) in self.queries.iter().zip(self.scores.chunks_exact_mut(ROWS)) {
            for (at, row, scale) in rows(self.chunk, self.dimension) {
                scores[at] = likeness(product(row, &query.codes), query, scale);
            }
        }
    }
}

/// Rows that are multiplied by sixteen numbers at once.
#[cfg(target_arch = "x86_64")]
struct WideRows<'a>(V3, ScoredRows<'a>);

#[cfg(target_arch = "x86_64")]
impl pulp::NullaryFnOnce for WideRows<'_> {
    type Output = ();

    /// Scores up to four queries at once: then a row is read and widened once for all of them.
    #[inline(always)]
    fn call(self) {
        let Self(simd, ScoredRows { chunk, dimension, mut queries, mut scores }) = self;
        while let Some((four, rest)) = queries.split_first_chunk::<4>() {
            let (of_four, of_rest) = scores.split_at_mut(4 * ROWS);
            score_at_once(simd, chunk, dimension, four, of_four);
            (queries, scores) = (rest, of_rest);
        }
        while let Some((one, rest)) = queries.split_first_chunk::<1>() {
            let (of_one, of_rest) = scores.split_at_mut(ROWS);
            score_at_once(simd, chunk, dimension, one, of_one);
            (queries, scores) = (rest, of_rest);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn score_at_once<const QUERIES: usize>(
    simd: V3,
    chunk: &Chunk,
    dimension: usize,
    queries: &[QueryVector; QUERIES],
    scores: &mut [f32],
) {
    let codes = queries.each_ref().map(|query| &query.codes[..dimension]);
    for (at, row, scale) in rows(chunk, dimension) {
        let (blocks, rest) = row.as_chunks::<16>();
        let query_blocks = codes.map(|codes| &codes.as_chunks::<16>().0[..blocks.len()]);
        let mut sums: [i32x8; QUERIES] = [cast([0_i32; 8]); QUERIES];
        for (number, block) in blocks.iter().enumerate() {
            let wide = simd.convert_i8x16_to_i16x16(cast(*block));
            for (sum, query) in sums.iter_mut().zip(query_blocks) {
                let products = simd.multiply_wrapping_add_adjacent_i16x16(wide, cast(query[number]));
                *sum = simd.wrapping_add_i32x8(*sum, products);
            }
        }
        for (number, (sum, query)) in sums.into_iter().zip(queries).enumerate() {
            let sum = cast::<_, [i32; 8]>(sum).iter().sum::<i32>();
            let of_rest = product(rest, &codes[number][row.len() - rest.len()..]);
            scores[number * ROWS + at] = likeness(sum + of_rest, query, scale);
        }
    }
}

/// Returns the rows with a vector, each with its number and its scale.
#[inline(always)]
fn rows(chunk: &Chunk, dimension: usize) -> impl Iterator<Item = (usize, &[i8], f32)> {
    let rows = chunk.codes.chunks_exact(dimension).zip(&chunk.scales).enumerate();
    rows.filter(|(_, (_, scale))| **scale != 0.0).map(|(at, (row, scale))| (at, row, *scale))
}

/// Returns the sum of the products of two rows of numbers. It cannot overflow: see [`QueryVector`].
#[inline(always)]
fn product(row: &[i8], query: &[i16]) -> i32 {
    row.iter().zip(query).map(|(row, query)| i32::from(*row) * i32::from(*query)).sum()
}

#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "a score needs no more than 24 bits")]
fn likeness(product: i32, query: &QueryVector, scale: f32) -> f32 {
    product as f32 * (query.scale * scale)
}
