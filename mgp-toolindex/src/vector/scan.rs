use std::sync::Arc;

use pulp::{Arch, Simd, WithSimd};

use super::chunk::{Chunk, ROWS};
use super::{QueryVector, Scores};

/// The scores of all rows of all chunks for each query, in one pass over them.
pub(super) fn scan<'a>(chunks: &'a [Arc<Chunk>], dimension: usize, queries: &'a [QueryVector]) -> Scores<'a> {
    let arch = Arch::new();
    let size = queries.len() * ROWS;
    let mut scores = Vec::with_capacity(chunks.len() * size);
    for chunk in chunks {
        // Filled here and not all at once: what is written now is still in the cache when the scores come.
        let start = scores.len();
        scores.resize(start + size, Scores::NONE);
        arch.dispatch(Rows { chunk, dimension, queries, scores: &mut scores[start..] });
    }
    Scores::new(chunks, queries, scores)
}

/// The scores of one chunk. The loops are plain; what makes them fast is that they are compiled once for each set of
/// vector instructions, and that the one which this machine has is chosen when they run.
struct Rows<'a> {
    chunk: &'a Chunk,
    dimension: usize,
    queries: &'a [QueryVector],
    scores: &'a mut [f32],
}

impl WithSimd for Rows<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "the vector instructions reach only what is inlined")]
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { chunk, dimension, queries, scores } = self;
        if dimension == 0 {
            return;
        }
        let rows = chunk.codes().chunks_exact(dimension).zip(chunk.scales());
        for (row, (codes, scale)) in rows.enumerate() {
            if *scale == 0.0 {
                continue;
            }
            for (query, scores) in queries.iter().zip(scores.chunks_exact_mut(ROWS)) {
                if query.codes().len() == dimension {
                    #[expect(clippy::cast_precision_loss, reason = "a score needs no more than 24 bits")]
                    let product = dot(codes, query.codes()) as f32;
                    scores[row] = product * query.scale() * scale;
                }
            }
        }
    }
}

/// Cannot overflow: see [`QueryVector`].
#[expect(clippy::inline_always, reason = "the vector instructions reach only what is inlined")]
#[inline(always)]
fn dot(row: &[i8], query: &[i16]) -> i32 {
    row.iter().zip(query).map(|(row, query)| i32::from(*row) * i32::from(*query)).sum()
}
