/// Some vectors: of each number a byte, and of each vector what its bytes are to be multiplied with.
#[derive(Debug, Clone, Default)]
pub(super) struct Chunk {
    codes: Vec<i8>,
    /// Zero for a row that has no vector.
    scales: Vec<f32>,
}

impl Chunk {
    pub(super) fn has(&self, row: usize) -> bool {
        self.scales.get(row).is_some_and(|scale| *scale > 0.0)
    }

    /// The vector, divided by `length` if that is more than 1. One whose numbers are all next to zero is none.
    pub(super) fn set(&mut self, row: usize, vector: &[f32], length: f64) {
        if self.scales.len() <= row {
            self.scales.resize(row + 1, 0.0);
            self.codes.resize((row + 1) * vector.len(), 0);
        }
        let largest = vector.iter().fold(0.0, |largest: f32, number| largest.max(number.abs()));
        let codes = &mut self.codes[row * vector.len()..][..vector.len()];
        for (code, number) in codes.iter_mut().zip(vector) {
            #[expect(clippy::cast_possible_truncation, reason = "no number is larger than the largest")]
            {
                *code = (f64::from(*number) / f64::from(largest) * LARGEST_CODE).round() as i8;
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "what is too small for it becomes zero")]
        {
            self.scales[row] = (f64::from(largest) / LARGEST_CODE / length.max(1.0)) as f32;
        }
    }

    /// Takes a vector away, and gives the memory back with the last one.
    pub(super) fn clear(&mut self, row: usize) {
        if let Some(scale) = self.scales.get_mut(row) {
            *scale = 0.0;
        }
        if !self.scales.iter().any(|scale| *scale > 0.0) {
            *self = Self::default();
        }
    }

    pub(super) fn get(&self, row: usize, dimension: usize) -> Option<Vec<f32>> {
        let scale = *self.scales.get(row).filter(|scale| **scale > 0.0)?;
        let codes = self.codes.get(row * dimension..(row + 1) * dimension)?;
        Some(codes.iter().map(|code| f32::from(*code) * scale).collect())
    }

    pub(super) fn codes(&self) -> &[i8] {
        &self.codes
    }

    pub(super) fn scales(&self) -> &[f32] {
        &self.scales
    }
}

/// Why numbers are not the vector of a tool or a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadVector {
    /// It was made by something else.
    #[error("a vector of {expected} numbers was expected, and this one has {got}")]
    Length { expected: usize, got: usize },
    /// One of the numbers is none, or has no end.
    #[error("a vector has to consist of finite numbers")]
    NotFinite,
    /// All numbers are zero, which is near to nothing.
    #[error("a vector of zeros says nothing")]
    Zero,
}

/// The length of a vector that may be kept.
pub(super) fn length(vector: &[f32], dimension: usize) -> Result<f64, BadVector> {
    if vector.len() != dimension {
        return Err(BadVector::Length { expected: dimension, got: vector.len() });
    }
    let square: f64 = vector.iter().map(|number| f64::from(*number) * f64::from(*number)).sum();
    if square.is_finite() { Ok(square.sqrt()) } else { Err(BadVector::NotFinite) }
}

/// So many vectors are copied for a change of one.
pub(super) const ROWS: usize = 512;

/// Codes lie evenly on both sides of zero, so that a vector and its opposite have opposite scores.
const LARGEST_CODE: f64 = 127.0;
