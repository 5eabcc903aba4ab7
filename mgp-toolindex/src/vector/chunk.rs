//! Quantised vectors: those of tools in chunks, and those of queries.

/// A chunk of vectors. A number takes twelve bits: eight for the search, and four more for the vectors that turn out to
/// be near.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunk {
    codes: Vec<i8>,
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

    /// Writes the likeness of each vector to one query after the other, [`ROWS`] scores for each. All queries have the
    /// dimension of the vectors. Rows without a vector keep what is there.
    pub(super) fn score(&self, queries: &[QueryVector], scores: &mut [f32]) {
        for (query, scores) in queries.iter().zip(scores.chunks_exact_mut(ROWS)) {
            let rows = self.codes.chunks_exact(query.codes.len());
            for ((row, scale), score) in rows.zip(&self.scales).zip(scores) {
                if *scale != 0.0 {
                    *score = likeness(row, query, *scale);
                }
            }
        }
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

/// Returns the likeness of a row to a query. The sum cannot overflow: see [`LARGEST_SUM`].
#[expect(clippy::cast_precision_loss, reason = "a score needs no more than 24 bits")]
fn likeness(row: &[i8], query: &QueryVector, scale: f32) -> f32 {
    let products = row.iter().zip(&query.codes).map(|(row, query)| i32::from(*row) * i32::from(*query));
    products.sum::<i32>() as f32 * (query.scale * scale)
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

/// The vector of a query: a direction, more exact than the vectors of tools.
#[derive(Debug, Clone)]
pub(crate) struct QueryVector {
    pub(super) codes: Box<[i16]>,
    pub(super) scale: f32,
}

/// The sum of the absolute values of the codes at most, so that no product with codes of a byte exceeds 32 bits,
/// whatever the dimension and the order of addition.
const LARGEST_SUM: f64 = (i32::MAX / 128) as f64;

impl QueryVector {
    /// Creates the direction of a vector; `None` if it has none.
    pub(crate) fn new(vector: &[f32]) -> Option<Self> {
        let length = length(vector, vector.len()).filter(|length| *length != 0.0)?;
        let magnitudes = || vector.iter().map(|number| f64::from(number.abs()) / length);
        let largest = magnitudes().fold(0.0, f64::max);
        #[expect(clippy::cast_precision_loss, reason = "no vector is that long")]
        let rounded_up = vector.len() as f64 / 2.0;
        let by_size = f64::from(i16::MAX) / largest;
        let by_sum = (LARGEST_SUM - rounded_up) / magnitudes().sum::<f64>();
        let steps = by_size.min(by_sum).max(0.0);
        #[expect(clippy::cast_possible_truncation, reason = "codes are no larger than by_size lets them be")]
        let codes =
            vector.iter().map(|number| (f64::from(*number) / length * steps).round() as i16).collect();
        #[expect(clippy::cast_possible_truncation, reason = "its precision is enough")]
        let scale = if steps > 0.0 { (1.0 / steps) as f32 } else { 0.0 };
        Some(Self { codes, scale })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_product_exceeds_its_bits(
            few in prop::collection::vec(prop_oneof![-1e30_f32..1e30, -1.0_f32..1.0, Just(1.0)], 1..20),
            dimension in 1..5000_usize,
        ) {
            prop_assume!(few[0] != 0.0);
            let vector: Vec<f32> = few.iter().copied().cycle().take(dimension).collect();
            let query = QueryVector::new(&vector).unwrap();
            let sum: i64 = query.codes.iter().map(|code| i64::from(*code).abs() * 127).sum();
            prop_assert!(sum <= i64::from(i32::MAX));
        }
    }

    #[test]
    fn what_has_no_direction_is_no_query() {
        for vector in [&[0.0, 0.0][..], &[], &[1.0, f32::NAN], &[1.0, f32::NEG_INFINITY]] {
            assert!(QueryVector::new(vector).is_none(), "{vector:?}");
        }
    }

    #[test]
    fn the_length_of_a_query_is_of_no_matter() {
        let one = QueryVector::new(&[0.3, -0.4]).unwrap();
        let other = QueryVector::new(&[3e37, -4e37]).unwrap();
        assert_eq!(one.codes, other.codes);
        assert!((one.scale - other.scale).abs() < 1e-9);
    }
}
