use std::sync::{Arc, LazyLock};
use std::thread;

use parking_lot::Mutex;

use super::chunk::{Chunk, ROWS};
use super::products::Products;
use super::{QueryVector, Scores};

/// The scores of all rows of all chunks for each query, in one pass over them.
///
/// Of a large collection a second thread takes chunks as well: a processor does not read memory as fast as two. It
/// is one chunk after the other that they take, so nobody waits for a thread that starts late, or not at all.
pub(super) fn scan<'a>(chunks: &'a [Arc<Chunk>], dimension: usize, queries: &'a [QueryVector]) -> Scores<'a> {
    let size = queries.len() * ROWS;
    let mut scores = vec![Scores::NONE; chunks.len() * size];
    let comparable = dimension > 0 && queries.iter().all(|query| query.codes().len() == dimension);
    if comparable && size > 0 {
        let products = Products::new();
        let left = Mutex::new(chunks.iter().zip(scores.chunks_exact_mut(size)));
        let take = || {
            loop {
                let Some((chunk, scores)) = left.lock().next() else { return };
                products.scores(chunk, dimension, queries, scores);
            }
        };
        if chunks.len() < SHARED || !*SEVERAL_PROCESSORS {
            take();
        } else {
            thread::scope(|scope| {
                let _not_started = thread::Builder::new().spawn_scoped(scope, take).is_err();
                take();
            });
        }
    }
    Scores::new(chunks, queries, scores)
}

/// Finding it out takes longer than a search.
static SEVERAL_PROCESSORS: LazyLock<bool> =
    LazyLock::new(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1));

/// From so many chunks on, a thread costs less than it saves.
pub(super) const SHARED: usize = 64;
