use std::sync::Arc;

use super::chunk::{Chunk, ROWS};
use super::products::Products;
use super::{QueryVector, Scores};

/// The scores of all rows of all chunks for each query, in one pass over them.
pub(super) fn scan<'a>(chunks: &'a [Arc<Chunk>], dimension: usize, queries: &'a [QueryVector]) -> Scores<'a> {
    let products = Products::new();
    let size = queries.len() * ROWS;
    let comparable = dimension > 0 && queries.iter().all(|query| query.codes().len() == dimension);
    let mut scores = Vec::with_capacity(chunks.len() * size);
    for chunk in chunks {
        // Filled here and not all at once: what is written now is still in the cache when the scores come.
        let start = scores.len();
        scores.resize(start + size, Scores::NONE);
        if comparable {
            products.scores(chunk, dimension, queries, &mut scores[start..]);
        }
    }
    Scores::new(chunks, queries, scores)
}
