use std::num::NonZero;
use std::sync::{Arc, LazyLock};

use pulp::{Arch, Simd, WithSimd};

use super::chunk::{Chunk, ROWS};
use super::{QueryVector, Scores};

/// The scores of all rows of all chunks for each query, in one pass over them.
pub(super) fn scan(chunks: &[Arc<Chunk>], dimension: usize, queries: &[QueryVector]) -> Scores {
    let work = chunks.len().saturating_mul(ROWS * dimension).saturating_mul(queries.len());
    let threads = (work / WORTH_A_THREAD).clamp(1, *PROCESSORS);
    let share = chunks.len().div_ceil(threads).max(1);
    let mut shares = chunks.chunks(share);
    let own = shares.next().unwrap_or_default();
    let parts = std::thread::scope(|scope| {
        let start = |share| {
            let thread = std::thread::Builder::new();
            (share, thread.spawn_scoped(scope, move || part(share, dimension, queries)))
        };
        let others: Vec<_> = shares.map(start).collect();
        let mut parts = vec![part(own, dimension, queries)];
        parts.extend(others.into_iter().map(|(share, thread)| {
            // Where the system has no thread left, it takes longer.
            let made = thread.ok().and_then(|thread| thread.join().ok());
            made.unwrap_or_else(|| part(share, dimension, queries))
        }));
        parts
    });
    Scores::new(parts, share, queries.len())
}

fn part(chunks: &[Arc<Chunk>], dimension: usize, queries: &[QueryVector]) -> Vec<f32> {
    let arch = Arch::new();
    let size = queries.len() * ROWS;
    let mut scores = Vec::with_capacity(chunks.len() * size);
    for chunk in chunks {
        // Filled here and not all at once: what is written now is still in the cache when the scores come.
        let start = scores.len();
        scores.resize(start + size, Scores::NONE);
        arch.dispatch(Rows { chunk, dimension, queries, scores: &mut scores[start..] });
    }
    scores
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

/// Fewer products than this are made sooner than a thread is started and waited for.
const WORTH_A_THREAD: usize = 128 << 20;

static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get));
