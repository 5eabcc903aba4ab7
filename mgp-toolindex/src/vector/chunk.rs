//! Chunks of quantised vectors.

use super::QueryVector;

/// A chunk of vectors. A number takes twelve bits: eight for the search, and four more for the vectors that turn out to
/// be near.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunk {
    pub(super) codes: Vec<i8>,
    /// The losses of rounding, in sixteenths of a code: a byte holds that of a number of the first half of a row, in
    /// its lower bits, and of one of the second half.
    losses: Vec<u8>,
    /// The factor of each row's codes; zero for a row without a vector.
    pub(super) scales: Vec<f32>,
}

/// The largest code. Codes lie evenly on both sides of zero, so that a vector and its opposite have opposite scores.
const LARGEST_CODE: f64 = 127.0;

impl Chunk {
    pub(super) fn has(&self, row: usize) -> bool {
        self.scales.get(row).is_some_and(|scale| *scale > 0.0)
    }

    /// Sets the vector of a row, divided by `length` if that is more than 1. A vector whose numbers are all next to
    /// zero counts as none.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "codes and losses are small")]
    pub(super) fn set(&mut self, row: usize, vector: &[f32], length: f64) {
        let half = vector.len().div_ceil(2);
        if self.scales.len() <= row {
            self.scales.resize(row + 1, 0.0);
            self.codes.resize((row + 1) * vector.len(), 0);
            self.losses.resize((row + 1) * half, 0);
        }
        let largest = vector.iter().fold(0.0, |largest: f32, number| largest.max(number.abs()));
        let steps = LARGEST_CODE / f64::from(largest);
        let codes = &mut self.codes[row * vector.len()..][..vector.len()];
        for (code, number) in codes.iter_mut().zip(vector) {
            *code = nearest(f64::from(*number) * steps) as i8;
        }
        let lost = |number: &f32| {
            let number = f64::from(*number) * steps;
            let sixteenths = nearest((number - f64::from(nearest(number))) * 16.0);
            (sixteenths.clamp(-8, 7) + 8) as u8
        };
        let (low, high) = vector.split_at(half);
        let losses = &mut self.losses[row * half..][..half];
        for (loss, low) in losses.iter_mut().zip(low) {
            *loss = lost(low);
        }
        for (loss, high) in losses.iter_mut().zip(high) {
            *loss |= lost(high) << 4;
        }
        self.scales[row] = (1.0 / steps / length.max(1.0)) as f32;
    }

    /// Removes a vector, and frees the memory with the last one.
    pub(super) fn clear(&mut self, row: usize) {
        if let Some(scale) = self.scales.get_mut(row) {
            *scale = 0.0;
        }
        if !self.scales.iter().any(|scale| *scale > 0.0) {
            *self = Self::default();
        }
    }

    /// Returns the correction of a row's score for the losses of rounding.
    pub(super) fn correction(&self, row: usize, query: &QueryVector) -> f32 {
        let Some(scale) = self.scales.get(row) else { return 0.0 };
        let half = query.codes.len().div_ceil(2);
        let losses = self.losses.get(row * half..(row + 1) * half).unwrap_or_default();
        let (first, second) = query.codes.split_at(half);
        let product = |bits: u32, codes: &[i16]| -> i32 {
            let products = losses.iter().zip(codes);
            products.map(|(loss, code)| (i32::from(loss >> bits & 15) - 8) * i32::from(*code)).sum()
        };
        #[expect(clippy::cast_precision_loss, reason = "it is a small part of a score")]
        let product = (product(0, first) + product(4, second)) as f32;
        product / 16.0 * query.scale * scale
    }
}

/// Returns the length of a vector; `None` if it has another dimension, or a number that is not finite.
pub(super) fn length(vector: &[f32], dimension: usize) -> Option<f64> {
    let square: f64 = vector.iter().map(|number| f64::from(*number) * f64::from(*number)).sum();
    (vector.len() == dimension && square.is_finite()).then(|| square.sqrt())
}

/// Rounds without a call into the mathematical library, which old processors would need.
#[expect(clippy::cast_possible_truncation, reason = "the numbers are those of codes")]
fn nearest(number: f64) -> i32 {
    (number + 0.5_f64.copysign(number)) as i32
}

/// The number of vectors that are copied for a change of one.
pub(super) const ROWS: usize = 512;
