//! Vectors for words that the table does not hold, such as those of other scripts than Latin.
//!
//! The vectors express no meaning, but texts that share words or parts of words are near each other, and others are
//! not: the vectors are signs that follow from the letters.

use super::words::RunKind;

/// The weight of a single letter beside two.
const SINGLE_LETTER: f32 = 0.5;

/// The weight of a part of a word beside the word.
const PART_OF_WORD: f32 = 0.5;

/// Adds the vectors of a run's parts to `sum`.
pub(super) fn add(kind: RunKind, run: &str, norm: f32, sum: &mut [f32]) {
    match kind {
        RunKind::Latin => {}
        // Words change at their ends: most of the shared letters are within.
        RunKind::Alphabet => {
            let word = run.to_lowercase();
            add_part(&word, norm, sum);
            add_windows(&word, 3, norm * PART_OF_WORD, sum);
        }
        RunKind::Dense => {
            add_windows(run, 2, norm, sum);
            add_windows(run, 1, norm * SINGLE_LETTER, sum);
        }
    }
}

/// Adds every part with this number of letters.
fn add_windows(run: &str, letters: usize, norm: f32, sum: &mut [f32]) {
    let borders = run.char_indices().map(|(at, _)| at).chain(std::iter::once(run.len()));
    for (start, end) in borders.clone().zip(borders.skip(letters)) {
        add_part(&run[start..end], norm, sum);
    }
}

const MIX_STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const HASH_FACTOR: u64 = 0x0100_0000_01b3;

/// The start value of FNV-1a.
const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds signs that follow from the letters of a part, of length `norm` together.
#[expect(clippy::cast_precision_loss, reason = "a vector has fewer members than that")]
fn add_part(part: &str, norm: f32, sum: &mut [f32]) {
    let step = norm / (sum.len() as f32).sqrt();
    let mut state =
        part.bytes().fold(HASH_START, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(HASH_FACTOR));
    for chunk in sum.chunks_mut(64) {
        state = state.wrapping_add(MIX_STEP);
        let mut signs = mixed(state);
        for member in chunk {
            *member += if signs & 1 == 0 { step } else { -step };
            signs >>= 1;
        }
    }
}

/// Returns a SplitMix64 hash: every bit of the result depends on every bit of the state.
fn mixed(state: u64) -> u64 {
    let mut bits = state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
