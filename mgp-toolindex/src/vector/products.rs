//! Scores of chunks, by vector instructions.

#![expect(clippy::inline_always, reason = "the vector instructions reach only what is inlined")]

use pulp::{Arch, Simd, WithSimd};

use super::QueryVector;
use super::chunk::{Chunk, ROWS};
use super::scores::Scores;

/// Computes the scores of a chunk with the vector instructions that this machine has.
#[derive(Debug, Clone, Copy)]
pub(super) struct DotProducts(Arch);

impl DotProducts {
    pub(super) fn new() -> Self {
        Self(Arch::new())
    }

    /// Computes the score of each row of a chunk, for one query after the other; rows without a vector get none. All
    /// queries have `dimension` numbers.
    pub(super) fn scores(self, chunk: &Chunk, dimension: usize, queries: &[QueryVector], scores: &mut [f32]) {
        let rows = Rows { chunk, dimension, queries, scores };
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Arch::V4(simd) => simd.vectorize(RowProduct(simd, rows)),
            #[cfg(target_arch = "x86_64")]
            Arch::V3(simd) => simd.vectorize(RowProduct(simd, rows)),
            arch => arch.dispatch(RowProduct(ScalarLanes, rows)),
        }
    }
}

struct Rows<'a> {
    chunk: &'a Chunk,
    dimension: usize,
    queries: &'a [QueryVector],
    scores: &'a mut [f32],
}

/// The rows with the lanes that multiply them.
struct RowProduct<'a, L>(L, Rows<'a>);

#[cfg(target_arch = "x86_64")]
impl pulp::NullaryFnOnce for RowProduct<'_, pulp::x86::V4> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.1.score(self.0);
    }
}

#[cfg(target_arch = "x86_64")]
impl pulp::NullaryFnOnce for RowProduct<'_, pulp::x86::V3> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.1.score(self.0);
    }
}

impl WithSimd for RowProduct<'_, ScalarLanes> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.1.score(self.0);
    }
}

impl Rows<'_> {
    /// Scores up to four queries at once: then a row is read and widened once for all of them.
    #[inline(always)]
    fn score<const N: usize>(self, lanes: impl SimdLanes<N>) {
        let Self { chunk, dimension, mut queries, mut scores } = self;
        while let Some((four, rest)) = queries.split_first_chunk::<4>() {
            let (of_four, of_rest) = scores.split_at_mut(4 * ROWS);
            score(lanes, chunk, dimension, four, of_four);
            (queries, scores) = (rest, of_rest);
        }
        if let Some((two, rest)) = queries.split_first_chunk::<2>() {
            let (of_two, of_rest) = scores.split_at_mut(2 * ROWS);
            score(lanes, chunk, dimension, two, of_two);
            (queries, scores) = (rest, of_rest);
        }
        if let Some((one, _)) = queries.split_first_chunk::<1>() {
            score(lanes, chunk, dimension, one, scores);
        }
    }
}

#[inline(always)]
fn score<const N: usize, const QUERIES: usize>(
    lanes: impl SimdLanes<N>,
    chunk: &Chunk,
    dimension: usize,
    queries: &[QueryVector; QUERIES],
    scores: &mut [f32],
) {
    let codes = queries.each_ref().map(|query| &query.codes()[..dimension]);
    let rows = chunk.codes().chunks_exact(dimension).zip(chunk.scales());
    for (row, (row_codes, scale)) in rows.enumerate() {
        let products = products(lanes, row_codes, codes);
        for (number, (product, query)) in products.into_iter().zip(queries).enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "a score needs no more than 24 bits")]
            let score = product as f32 * (query.scale() * scale);
            scores[number * ROWS + row] = if *scale == 0.0 { Scores::NONE } else { score };
        }
    }
}

/// Returns the products of a row and each query. The sums cannot overflow: see [`QueryVector`].
#[inline(always)]
fn products<const N: usize, const QUERIES: usize>(
    lanes: impl SimdLanes<N>,
    row: &[i8],
    queries: [&[i16]; QUERIES],
) -> [i32; QUERIES] {
    let (blocks, rest) = row.as_chunks::<N>();
    let query_blocks = queries.map(|query| &query.as_chunks::<N>().0[..blocks.len()]);
    let mut sums = [lanes.none(); QUERIES];
    for (at, block) in blocks.iter().enumerate() {
        let wide = lanes.widen(*block);
        for (sum, query) in sums.iter_mut().zip(query_blocks) {
            *sum = lanes.add(*sum, wide, query[at]);
        }
    }
    let mut totals = sums.map(|sum| lanes.total(sum));
    if !rest.is_empty() {
        for (total, query) in totals.iter_mut().zip(queries) {
            let rest = rest.iter().zip(&query[row.len() - rest.len()..]);
            *total += rest.map(|(row, query)| i32::from(*row) * i32::from(*query)).sum::<i32>();
        }
    }
    totals
}

/// Vector instructions that multiply `N` numbers at once, and add up neighbours.
trait SimdLanes<const N: usize>: Copy {
    /// The codes of a row, as wide as those of queries.
    type Wide: Copy;
    type Sum: Copy;

    fn none(self) -> Self::Sum;
    fn widen(self, codes: [i8; N]) -> Self::Wide;
    fn add(self, sum: Self::Sum, codes: Self::Wide, query: [i16; N]) -> Self::Sum;
    fn total(self, sum: Self::Sum) -> i32;
}

#[cfg(target_arch = "x86_64")]
impl SimdLanes<32> for pulp::x86::V4 {
    type Wide = pulp::i16x32;
    type Sum = pulp::i32x16;

    #[inline(always)]
    fn none(self) -> pulp::i32x16 {
        pulp::cast([0_i32; 16])
    }

    #[inline(always)]
    fn widen(self, codes: [i8; 32]) -> pulp::i16x32 {
        self.convert_i8x32_to_i16x32(pulp::cast(codes))
    }

    #[inline(always)]
    fn add(self, sum: pulp::i32x16, codes: pulp::i16x32, query: [i16; 32]) -> pulp::i32x16 {
        self.wrapping_add_i32x16(sum, self.multiply_wrapping_add_adjacent_i16x32(codes, pulp::cast(query)))
    }

    #[inline(always)]
    fn total(self, sum: pulp::i32x16) -> i32 {
        self.avx512f._mm512_reduce_add_epi32(pulp::cast(sum))
    }
}

#[cfg(target_arch = "x86_64")]
impl SimdLanes<16> for pulp::x86::V3 {
    type Wide = pulp::i16x16;
    type Sum = pulp::i32x8;

    #[inline(always)]
    fn none(self) -> pulp::i32x8 {
        pulp::cast([0_i32; 8])
    }

    #[inline(always)]
    fn widen(self, codes: [i8; 16]) -> pulp::i16x16 {
        self.convert_i8x16_to_i16x16(pulp::cast(codes))
    }

    #[inline(always)]
    fn add(self, sum: pulp::i32x8, codes: pulp::i16x16, query: [i16; 16]) -> pulp::i32x8 {
        self.wrapping_add_i32x8(sum, self.multiply_wrapping_add_adjacent_i16x16(codes, pulp::cast(query)))
    }

    #[inline(always)]
    fn total(self, sum: pulp::i32x8) -> i32 {
        pulp::cast::<_, [i32; 8]>(sum).iter().sum()
    }
}

/// The lanes of other machines, left to the compiler.
#[derive(Clone, Copy)]
struct ScalarLanes;

impl SimdLanes<16> for ScalarLanes {
    type Wide = [i8; 16];
    type Sum = i32;

    #[inline(always)]
    fn none(self) -> i32 {
        0
    }

    #[inline(always)]
    fn widen(self, codes: [i8; 16]) -> [i8; 16] {
        codes
    }

    #[inline(always)]
    fn add(self, sum: i32, codes: [i8; 16], query: [i16; 16]) -> i32 {
        sum + codes.iter().zip(query).map(|(code, query)| i32::from(*code) * i32::from(query)).sum::<i32>()
    }

    #[inline(always)]
    fn total(self, sum: i32) -> i32 {
        sum
    }
}
