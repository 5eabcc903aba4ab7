//! Vectors of queries.

use super::chunk;

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
        let length = chunk::length(vector, vector.len()).filter(|length| *length != 0.0)?;
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
