//! The built-in embedder: vectors from a table of words, without a model or a download, in about a microsecond for a
//! query.

mod format;
mod pieces;
mod strangers;
#[cfg(test)]
mod tests;
mod words;

use std::{
    fmt::Write as _,
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use mgp_types::BoxFuture;
use smallvec::SmallVec;

pub use self::format::TableError;
use self::format::WordTable;
use self::words::ScriptRun;
use super::{EmbedError, Embedder, Purpose};

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
    /// Creates the embedder with the table of this crate, which is read once for all of them.
    pub fn new() -> Self {
        static SHARED: LazyLock<StaticEmbedder> = LazyLock::new(|| {
            StaticEmbedder::read(&Bytes::from_static(BUILT_IN)).expect("a test reads these very bytes")
        });
        SHARED.clone()
    }

    /// Creates an embedder with another table, from the bytes of a file that `cargo xtask embed` wrote.
    ///
    /// # Errors
    /// The bytes are no such file, are incomplete, or were changed.
    pub fn read(file: &Bytes) -> Result<Self, TableError> {
        let table = WordTable::read(file)?;
        let mut id = String::from("static-");
        for byte in &table.digest[..8] {
            let _ = write!(id, "{byte:02x}");
        }
        Ok(Self { table: Arc::new(table), id: id.into() })
    }

    /// Returns the vector of a text, of length 1; `None` for a text without meaning.
    pub fn vector(&self, text: &str) -> Option<Vec<f32>> {
        let mut sum = vec![0.0; self.table.dimension];
        self.add_words(&words::fold(text), &mut sum);
        let norm = sum.iter().map(|member| member * member).sum::<f32>().sqrt();
        if norm < SHORTEST {
            return None;
        }
        for member in &mut sum {
            *member /= norm;
        }
        Some(sum)
    }

    /// Adds the vector of each word of a folded text, once.
    fn add_words(&self, text: &str, sum: &mut [f32]) {
        let mut pieces = SmallVec::<[u32; 64]>::new();
        for run in words::runs(text) {
            match run {
                ScriptRun::Latin(run) => self.table.pieces.split(run, |piece| pieces.push(piece)),
                ScriptRun::Alphabet(_) | ScriptRun::Dense(_) => strangers::add(run, self.table.stranger, sum),
            }
        }
        pieces.sort_unstable();
        pieces.dedup();
        for piece in pieces {
            self.add_piece(piece as usize, sum);
        }
    }

    /// Adds the vector of one piece.
    fn add_piece(&self, piece: usize, sum: &mut [f32]) {
        let WordTable { dimension, width, codebook, scales, codes, .. } = &*self.table;
        let a_piece = dimension / width;
        let codes = &codes[piece * a_piece..][..a_piece];
        // With lengths that are known here, the additions compile to a few instructions.
        match width {
            2 => add_coded::<2>(codes, codebook, scales[piece], sum),
            3 => add_coded::<3>(codes, codebook, scales[piece], sum),
            4 => add_coded::<4>(codes, codebook, scales[piece], sum),
            _ => {
                for (members, &code) in sum.chunks_exact_mut(*width).zip(codes) {
                    let meant = &codebook[usize::from(code) * width..];
                    members
                        .iter_mut()
                        .zip(meant)
                        .for_each(|(member, meant)| *member += scales[piece] * meant);
                }
            }
        }
    }
}

fn add_coded<const WIDTH: usize>(codes: &[u8], codebook: &[f32], scale: f32, sum: &mut [f32]) {
    let (codebook, _) = codebook.as_chunks::<WIDTH>();
    let (sum, _) = sum.as_chunks_mut::<WIDTH>();
    for (members, &code) in sum.iter_mut().zip(codes) {
        let meant = &codebook[usize::from(code)];
        for at in 0..WIDTH {
            members[at] += scale * meant[at];
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

    fn embed(
        &self,
        texts: Vec<String>,
        purpose: Purpose,
    ) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        let embedder = self.clone();
        Box::pin(async move {
            let vector = |text: &String| {
                embedder.embed_now(text, purpose).unwrap_or_else(|| vec![0.0; embedder.dimension()])
            };
            Ok(texts.iter().map(vector).collect())
        })
    }

    /// Returns the vector of any text, if only that of zeros.
    fn embed_now(&self, text: &str, _purpose: Purpose) -> Option<Vec<f32>> {
        Some(self.vector(text).unwrap_or_else(|| vec![0.0; self.table.dimension]))
    }

    /// Returns the share of words that are in the table. Other words are compared by their letters, which a search by
    /// words does better.
    fn grasps(&self, text: &str) -> f32 {
        let (mut known, mut all) = (0_u16, 0_u16);
        for run in words::runs(&words::fold(text)) {
            let (ScriptRun::Latin(letters) | ScriptRun::Alphabet(letters) | ScriptRun::Dense(letters)) = run;
            let letters = u16::try_from(letters.chars().count()).unwrap_or(u16::MAX);
            all = all.saturating_add(letters);
            if let ScriptRun::Latin(_) = run {
                known = known.saturating_add(letters);
            }
        }
        let known = if all == 0 { 1.0 } else { f32::from(known) / f32::from(all) };
        known + (1.0 - known) * OF_STRANGERS
    }
}

mgp_types::partial_debug!(StaticEmbedder, self => id: self.id);
