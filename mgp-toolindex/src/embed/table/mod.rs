//! The built-in embedder: vectors from a table of words, without a model or a download, in about a microsecond for a
//! query.

mod format;
mod pieces;
mod strangers;
#[cfg(test)]
mod tests;
pub(super) mod words;

use std::sync::{Arc, LazyLock};

use mgp_types::BoxFuture;
use smallvec::SmallVec;

use self::format::{WIDTH, WordTable};
use self::words::RunKind;
use super::{EmbedError, Embedder, short_hex};

/// The built-in embedder: the vector of a text is the sum of the vectors of its words.
///
/// The table was fitted so that these sums come near to the vectors of a sentence encoder for tool descriptions and for
/// questions about them (`cargo xtask embed`). A word of little meaning has a short vector, so that nothing has to be
/// known about other texts. Words of other scripts than Latin get vectors that follow from their letters: they are
/// found by shared letters, not by meaning. A text without a letter or digit has the vector of zeros.
///
/// Copies share the table.
#[derive(Clone)]
pub struct StaticEmbedder {
    table: Arc<WordTable>,
    id: Arc<str>,
}

/// The length of a sum below which its words have cancelled each other, and it has no direction.
const SHORTEST: f32 = 1e-6;

const BUILT_IN: &[u8] = include_bytes!("../../../table/tools.mgptable");

impl StaticEmbedder {
    /// Creates the embedder; all share one table, which is read once.
    pub fn new() -> Self {
        static SHARED: LazyLock<StaticEmbedder> = LazyLock::new(|| {
            let table = WordTable::read(BUILT_IN);
            // The number counts the ways in which texts were read.
            let id = format!("static2-{}", short_hex(&table.digest)).into();
            StaticEmbedder { table: Arc::new(table), id }
        });
        SHARED.clone()
    }

    /// Returns the vector of a text, of length 1; `None` for a text without meaning.
    pub fn vector(&self, text: &str) -> Option<Vec<f32>> {
        let mut sum = vec![0.0; self.table.dimension];
        let mut pieces = SmallVec::<[u32; 64]>::new();
        for (kind, run) in words::runs(&words::fold(text)) {
            match kind {
                RunKind::Latin => self.table.pieces.split(run, |piece| pieces.push(piece)),
                RunKind::Alphabet | RunKind::Dense => {
                    strangers::add(kind, run, self.table.stranger, &mut sum);
                }
            }
        }
        // Each word counts once.
        pieces.sort_unstable();
        pieces.dedup();
        for piece in pieces {
            self.add_piece(piece as usize, &mut sum);
        }
        let norm = sum.iter().map(|member| member * member).sum::<f32>().sqrt();
        if norm < SHORTEST {
            return None;
        }
        for member in &mut sum {
            *member /= norm;
        }
        Some(sum)
    }

    /// Adds the vector of one piece.
    fn add_piece(&self, piece: usize, sum: &mut [f32]) {
        let WordTable { dimension, codebook, scales, codes, .. } = &*self.table;
        let a_piece = dimension / WIDTH;
        let scale = scales[piece];
        let (sum, _) = sum.as_chunks_mut::<WIDTH>();
        for (members, &code) in sum.iter_mut().zip(&codes[piece * a_piece..][..a_piece]) {
            for (member, meant) in members.iter_mut().zip(codebook[usize::from(code)]) {
                *member += scale * meant;
            }
        }
    }
}

impl Default for StaticEmbedder {
    fn default() -> Self {
        Self::new()
    }
}

/// The share of the meaning of an unknown word that its letters tell.
const OF_STRANGERS: f32 = 0.25;

impl Embedder for StaticEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.table.dimension
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(std::future::ready(Ok(texts.iter().filter_map(|text| self.embed_now(text)).collect())))
    }

    /// Returns the vector of any text, if only that of zeros.
    fn embed_now(&self, text: &str) -> Option<Vec<f32>> {
        Some(self.vector(text).unwrap_or_else(|| vec![0.0; self.table.dimension]))
    }

    /// Returns the share of words that are in the table. Other words are compared by their letters, which a search by
    /// words does better.
    fn grasps(&self, text: &str) -> f32 {
        let (mut known, mut all) = (0_u16, 0_u16);
        for (kind, run) in words::runs(&words::fold(text)) {
            let letters = u16::try_from(run.chars().count()).unwrap_or(u16::MAX);
            all = all.saturating_add(letters);
            if kind == RunKind::Latin {
                known = known.saturating_add(letters);
            }
        }
        let known = if all == 0 { 1.0 } else { f32::from(known) / f32::from(all) };
        known + (1.0 - known) * OF_STRANGERS
    }
}

mgp_types::partial_debug!(StaticEmbedder, self => id: self.id);
