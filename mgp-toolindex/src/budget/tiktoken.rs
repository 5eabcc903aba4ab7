//! Exact token counts, with the vocabulary o200k of OpenAI's models.

use tiktoken_rs::o200k_base_singleton;

use super::{TokenCounter, TokenEstimator};

/// Counts tokens as OpenAI's models do (o200k).
///
/// The vocabulary is read at the first count and then shared by the whole process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tiktoken;

/// The bytes that are counted exactly; the rest is estimated. No definition for a model is longer.
const MAX_EXACT: usize = 64 * 1024;

impl TokenCounter for Tiktoken {
    fn count(&self, text: &str) -> u32 {
        let (exact, rest) = text.split_at(text.floor_char_boundary(MAX_EXACT));
        let tokenizer = o200k_base_singleton();
        let count: usize = pieces(exact).map(|piece| tokenizer.encode_ordinary(piece).len()).sum();
        u32::try_from(count).unwrap_or(u32::MAX).saturating_add(TokenEstimator::new().count(rest))
    }

    fn name(&self) -> &'static str {
        "o200k"
    }
}

const PIECE: usize = 2048;

/// Returns the text in pieces that are short enough for the tokenizer, whose patterns backtrack: on very long runs it
/// takes quadratic time, and at its limit it panics. Pieces end at the end of a word where possible.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let most = text.floor_char_boundary(PIECE);
        let space = text[..most].rfind(' ').filter(|at| *at > 0 && most < text.len());
        let (piece, rest) = text.split_at(space.unwrap_or(most));
        text = rest;
        Some(piece)
    })
}
