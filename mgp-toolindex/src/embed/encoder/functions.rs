//! Functions of numbers, in forms that compile to vector instructions.

#![expect(clippy::inline_always, reason = "the vector instructions reach only what is inlined")]

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

use super::rows::ROUNDING;

/// The logarithm of two, in two parts: the first one times a small whole number is exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// Returns e to the power of a number, right to about 1e-7 of it; numbers beyond 87 count as 87.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 87.0);
    let shifted = x * LOG2_E + ROUNDING;
    let whole = shifted - ROUNDING;
    let rest = x - whole * LN_2[0] - whole * LN_2[1];
    let series = 1.0 / 720.0;
    let series = series * rest + 1.0 / 120.0;
    let series = series * rest + 1.0 / 24.0;
    let series = series * rest + 1.0 / 6.0;
    let series = series * rest + 0.5;
    let series = series * rest + 1.0;
    let series = series * rest + 1.0;
    series * f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23))
}

/// Returns the Gaussian error linear unit of a number, by formula 7.1.26 of Abramowitz and Stegun, right to 1e-6.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    let z = x.abs() * FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series = 1.061_405_4;
    let series = series * t - 1.453_152;
    let series = series * t + 1.421_413_7;
    let series = series * t - 0.284_496_74;
    let series = series * t + 0.254_829_6;
    // The error function of a number is odd, so that x · erf(x) needs no sign.
    0.5 * (x + x.abs() * (1.0 - series * t * exp(-z * z)))
}

/// Returns the sum of what `of` makes of each number, added up in sixteen parts.
#[inline(always)]
pub(super) fn sum(numbers: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (parts, rest) = numbers.as_chunks::<16>();
    let mut sums = [0.0; 16];
    for part in parts {
        for (sum, number) in sums.iter_mut().zip(part) {
            *sum += of(*number);
        }
    }
    sums.into_iter().chain(rest.iter().map(|number| of(*number))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(from: i16, to: i16) -> impl Iterator<Item = f32> {
        (from * 64..=to * 64).map(|x| f32::from(x) / 64.0)
    }

    #[test]
    fn powers_of_e_are_those_of_the_standard_library() {
        for x in between(-86, 86) {
            let (found, exact) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((found - exact).abs() <= 3e-7 * exact, "{x}: {found} {exact}");
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37 && exp(1e30).is_finite());
    }

    #[test]
    fn the_linear_unit_has_its_known_values() {
        for (x, expected) in [(0.0, 0.0), (1.0, 0.841_344_8), (-1.0, -0.158_655_25), (3.0, 2.995_950_3)] {
            assert!((gelu(x) - expected).abs() < 1e-6, "{x}");
        }
        assert!((gelu(50.0) - 50.0).abs() < 1e-5 && gelu(-50.0).abs() < 1e-5);
        // gelu(x) - gelu(-x) = x
        for x in between(0, 8) {
            assert!((gelu(x) - gelu(-x) - x).abs() < 1e-5, "{x}");
        }
    }

    #[test]
    fn sums_of_any_length_are_whole() {
        for count in [0_u8, 1, 15, 16, 17, 100] {
            let all = (1..=count).map(f32::from).collect::<Vec<_>>();
            let expected = f32::from(count) * (f32::from(count) + 1.0) / 2.0;
            assert_eq!(sum(&all, |number| number).to_bits(), expected.to_bits());
        }
    }
}
