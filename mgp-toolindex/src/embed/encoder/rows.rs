//! Rows of numbers, and the same as whole numbers with a factor each.

#![expect(clippy::inline_always, reason = "the vector instructions reach only what is inlined")]

/// The number of neighbouring inputs whose products are added up as whole numbers.
pub(super) const SEGMENT: usize = 64;

/// Whole numbers in pairs, as the products take them.
pub(super) type InputSegment = [[i16; 2]; SEGMENT / 2];

/// The largest whole number of an input. With that of a weight, the products of a segment fit into 32 bits.
const MAX_INPUT: i16 = 8191;

/// The largest whole number of a weight.
pub(super) const MAX_WEIGHT: i16 = 4095;

/// Rows of numbers, one behind the other.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    pub(super) width: usize,
    pub(super) numbers: Vec<f32>,
}

impl Rows {
    pub(super) fn new(count: usize, width: usize) -> Self {
        Self { width, numbers: vec![0.0; count * width] }
    }

    pub(super) fn count(&self) -> usize {
        self.numbers.len() / self.width
    }

    pub(super) fn row(&self, number: usize) -> &[f32] {
        &self.numbers[number * self.width..][..self.width]
    }

    /// Returns parts of so many rows each, one behind the other.
    pub(super) fn parts(&self, counts: impl Iterator<Item = usize>) -> impl Iterator<Item = Self> {
        let mut rest = &*self.numbers;
        counts.map(move |count| {
            let (part, behind) = rest.split_at(count * self.width);
            rest = behind;
            Self { width: self.width, numbers: part.to_vec() }
        })
    }

    pub(super) fn iter(&self) -> std::slice::ChunksExact<'_, f32> {
        self.numbers.chunks_exact(self.width)
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::ChunksExactMut<'_, f32> {
        self.numbers.chunks_exact_mut(self.width)
    }
}

/// Rows of whole numbers.
#[derive(Debug)]
pub(super) struct WholeRows {
    /// The segments of a row. The last one is filled up with zeros.
    pub(super) segments: usize,
    pub(super) numbers: Vec<InputSegment>,
    /// The value of the integer one, in each row.
    pub(super) scales: Vec<f32>,
}

impl WholeRows {
    /// Rounds rows to whole numbers.
    #[inline(always)]
    pub(super) fn of(rows: &Rows) -> Self {
        let segments = rows.width.div_ceil(SEGMENT);
        let mut numbers = vec![[[0; 2]; SEGMENT / 2]; segments * rows.count()];
        let mut scales = Vec::with_capacity(rows.count());
        for (row, whole) in rows.iter().zip(numbers.chunks_exact_mut(segments)) {
            let scale = largest(row) / f32::from(MAX_INPUT);
            scales.push(scale);
            round(row, scale, whole.as_flattened_mut().as_flattened_mut());
        }
        Self { segments, numbers, scales }
    }

    pub(super) fn row(&self, number: usize) -> &[InputSegment] {
        &self.numbers[number * self.segments..][..self.segments]
    }
}

/// Returns the largest number, whatever its sign.
#[inline(always)]
pub(super) fn largest(numbers: &[f32]) -> f32 {
    let (parts, rest) = numbers.as_chunks::<16>();
    let mut most = [0.0_f32; 16];
    for part in parts {
        for (most, number) in most.iter_mut().zip(part) {
            *most = most.max(number.abs());
        }
    }
    most.iter().chain(rest).fold(0.0, |most, number| most.max(number.abs()))
}

/// A number that is added to have another one rounded: the sum has no bits left for fractions, and its lowest bits are
/// the whole number.
pub(super) const ROUNDING: f32 = 12_582_912.0;

/// Rounds numbers to multiples of `scale`; the multiples have to fit.
#[inline(always)]
pub(super) fn round(numbers: &[f32], scale: f32, whole: &mut [i16]) {
    let inverse = if scale == 0.0 { 0.0 } else { scale.recip() };
    for (whole, number) in whole.iter_mut().zip(numbers) {
        #[expect(clippy::cast_possible_truncation, reason = "the lowest bits are the whole number")]
        let rounded = (number * inverse + ROUNDING).to_bits() as i16;
        *whole = rounded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_products_of_a_segment_fit_into_32_bits() {
        let most = i64::from(MAX_INPUT) * i64::from(MAX_WEIGHT);
        assert!(most * i64::try_from(SEGMENT).unwrap() <= i64::from(i32::MAX));
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest_multiple() {
        let mut whole = [0; 5];
        round(&[1.0, -2.0, 0.24, -0.26, 4095.5], 0.5, &mut whole);
        assert_eq!(whole, [2, -4, 0, -1, 8191]);
        round(&[0.0; 5], 0.0, &mut whole);
        assert_eq!(whole, [0; 5]);
    }

    #[test]
    fn the_largest_number_of_a_row_becomes_the_largest_whole_number() {
        let mut rows = Rows::new(2, 20);
        rows.numbers[19] = -3.0;
        let whole = WholeRows::of(&rows);
        assert_eq!(whole.row(0).as_flattened().as_flattened()[19], -MAX_INPUT);
        assert_eq!(whole.row(1), [[[0; 2]; SEGMENT / 2]]);
    }
}
