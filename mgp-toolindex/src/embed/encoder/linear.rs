//! A layer of weights: each output is the sum of all inputs, weighted.

#![expect(clippy::inline_always, reason = "the vector instructions reach only what is inlined")]

use std::array;

use pulp::bytemuck::Zeroable as _;
use pulp::{Arch, NullaryFnOnce, cast};

use super::lanes::{BLOCK, Lanes, PairWeights, ScalarLanes};
use super::rows::{MAX_WEIGHT, Rows, SEGMENT, WholeRows, largest, round};

/// Weights as whole numbers of 12 bits and a sign, with a factor for each output.
///
/// Inputs are whole numbers as well, so that the products of pairs and their sum are one instruction on 16 or 32 numbers
/// on every processor of the last ten years. With weights of 8 bits the vectors would differ from those of the published
/// weights by up to 8e-3 in a member, instead of 6e-4.
pub(super) struct Linear {
    /// The segments of an output's weights.
    segments: usize,
    /// The segments of the first block of outputs, then those of the second, and so on.
    weights: Box<[WeightSegment]>,
    scales: Box<[f32]>,
    shifts: Box<[f32]>,
}

/// The weights of a block of outputs for a segment of inputs.
type WeightSegment = [PairWeights; SEGMENT / 2];

impl Linear {
    /// Rounds weights, given as a row for each output, and takes what is added to the outputs. Their number is a
    /// multiple of [`OUTPUTS`].
    pub(super) fn new(weights: &[f32], shifts: Vec<f32>) -> Self {
        let outputs = shifts.len();
        let inputs = weights.len() / outputs;
        let segments = inputs.div_ceil(SEGMENT);
        let mut packed = vec![[[[0; 2]; BLOCK]; SEGMENT / 2]; outputs / BLOCK * segments].into_boxed_slice();
        let mut scales = Vec::with_capacity(outputs);
        let mut whole = vec![0; inputs];
        for (output, row) in weights.chunks_exact(inputs).enumerate() {
            let scale = largest(row) / f32::from(MAX_WEIGHT);
            scales.push(scale);
            round(row, scale, &mut whole);
            for (input, weight) in whole.iter().enumerate() {
                let segment = &mut packed[output / BLOCK * segments + input / SEGMENT];
                segment[input % SEGMENT / 2][output % BLOCK][input % 2] = *weight;
            }
        }
        Self { segments, weights: packed, scales: scales.into(), shifts: shifts.into() }
    }

    /// Returns the outputs for each row of inputs.
    pub(super) fn apply(&self, arch: Arch, inputs: &WholeRows) -> Rows {
        let mut outputs = Rows::new(inputs.scales.len(), self.scales.len());
        let work = Products { linear: self, inputs, outputs: &mut outputs };
        match arch {
            #[cfg(target_arch = "x86_64")]
            Arch::V4(simd) => simd.vectorize(ProductsBy::<_, 2>(simd, work)),
            #[cfg(target_arch = "x86_64")]
            Arch::V3(simd) => simd.vectorize(ProductsBy::<_, 1>(simd, work)),
            arch => arch.dispatch(ProductsBy::<_, 1>(ScalarLanes, work)),
        }
        outputs
    }

    fn block(&self, block: usize) -> &[WeightSegment] {
        &self.weights[block * self.segments..][..self.segments]
    }
}

mgp_types::partial_debug!(Linear, self => segments: self.segments);

/// The number of which the count of outputs is a multiple.
pub(super) const OUTPUTS: usize = 2 * BLOCK;

struct Products<'a> {
    linear: &'a Linear,
    inputs: &'a WholeRows,
    outputs: &'a mut Rows,
}

struct ProductsBy<'a, L, const BLOCKS: usize>(L, Products<'a>);

impl<L: Lanes<BLOCKS>, const BLOCKS: usize> NullaryFnOnce for ProductsBy<'_, L, BLOCKS> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.1.multiply(self.0);
    }
}

/// The number of rows that are multiplied at once at most: their sums fill the registers.
const MAX_ROWS: usize = 6;

impl Products<'_> {
    #[inline(always)]
    fn multiply<const BLOCKS: usize>(mut self, lanes: impl Lanes<BLOCKS>) {
        let rows = self.inputs.scales.len();
        for block in (0..self.linear.scales.len() / BLOCK).step_by(BLOCKS) {
            let mut first = 0;
            while first < rows {
                // Groups of about the same size: a last one of a single row would cost nearly as much as a full one.
                let groups = (rows - first).div_ceil(MAX_ROWS);
                let some = (rows - first).div_ceil(groups);
                match some {
                    1 => self.multiply_rows::<_, BLOCKS, 1>(lanes, block, first),
                    2 => self.multiply_rows::<_, BLOCKS, 2>(lanes, block, first),
                    3 => self.multiply_rows::<_, BLOCKS, 3>(lanes, block, first),
                    4 => self.multiply_rows::<_, BLOCKS, 4>(lanes, block, first),
                    5 => self.multiply_rows::<_, BLOCKS, 5>(lanes, block, first),
                    _ => self.multiply_rows::<_, BLOCKS, MAX_ROWS>(lanes, block, first),
                }
                first += some;
            }
        }
    }

    /// Multiplies `ROWS` rows from `first` on with the weights of `BLOCKS` blocks.
    #[inline(always)]
    fn multiply_rows<L: Lanes<BLOCKS>, const BLOCKS: usize, const ROWS: usize>(
        &mut self,
        lanes: L,
        block: usize,
        first: usize,
    ) {
        let Self { linear, inputs, outputs } = self;
        let weights: [_; BLOCKS] = array::from_fn(|at| linear.block(block + at));
        let rows: [_; ROWS] = array::from_fn(|at| inputs.row(first + at));
        let mut totals = [[L::Totals::zeroed(); BLOCKS]; ROWS];
        for segment in 0..linear.segments {
            let weights = weights.map(|weights| &weights[segment]);
            let rows = rows.map(|row| &row[segment]);
            let mut sums = [[L::Sums::zeroed(); BLOCKS]; ROWS];
            for pair in 0..SEGMENT / 2 {
                let weights = weights.map(|weights| cast::<_, L::Weights>(weights[pair]));
                for (sums, row) in sums.iter_mut().zip(rows) {
                    let inputs = lanes.pair(row[pair]);
                    for (sum, weights) in sums.iter_mut().zip(weights) {
                        *sum = lanes.add(*sum, weights, inputs);
                    }
                }
            }
            for (total, sums) in totals.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
                *total = lanes.total(*total, *sums);
            }
        }
        let span = block * BLOCK..(block + BLOCKS) * BLOCK;
        let (scales, shifts) = (&linear.scales[span.clone()], &linear.shifts[span.clone()]);
        let width = outputs.width;
        for (at, totals) in totals.iter().enumerate() {
            let scale = inputs.scales[first + at];
            let totals = totals.map(cast::<_, [f32; BLOCK]>);
            let outputs = &mut outputs.numbers[(first + at) * width..][span.clone()];
            let factors = scales.iter().zip(shifts);
            for ((output, total), (of_output, shift)) in
                outputs.iter_mut().zip(totals.as_flattened()).zip(factors)
            {
                *output = total * (scale * of_output) + shift;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers between -1 and 1 that look random.
    fn numbers(count: usize) -> Vec<f32> {
        let mut state = 1_u32;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            #[expect(clippy::cast_precision_loss, reason = "24 bits are left")]
            let number = (state >> 8) as f32 / 8_388_608.0 - 1.0;
            number
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    fn multiplied(arch: Arch, rows: usize, inputs: usize, outputs: usize) -> (Rows, Vec<f64>) {
        let numbers = numbers(inputs * (outputs + rows) + outputs);
        let (weights, rest) = numbers.split_at(inputs * outputs);
        let (input, shifts) = rest.split_at(inputs * rows);
        let linear = Linear::new(weights, shifts.to_vec());
        let input = Rows { width: inputs, numbers: input.to_vec() };
        let exact = input.iter().flat_map(|row| {
            weights.chunks_exact(inputs).zip(shifts).map(move |(weights, shift)| {
                let products =
                    row.iter().zip(weights).map(|(one, other)| f64::from(*one) * f64::from(*other));
                products.sum::<f64>() + f64::from(*shift)
            })
        });
        (linear.apply(arch, &WholeRows::of(&input)), exact.collect())
    }

    #[test]
    fn outputs_are_the_weighted_sums_of_the_inputs() {
        for (rows, inputs, outputs) in [(1, 32, 32), (2, 129, 64), (7, 384, 96), (14, 300, 32)] {
            let (found, exact) = multiplied(Arch::new(), rows, inputs, outputs);
            assert_eq!((found.count(), found.width), (rows, outputs));
            for (found, exact) in found.numbers.iter().zip(exact) {
                assert!((f64::from(*found) - exact).abs() < 0.02, "{rows} {inputs}: {found} {exact}");
            }
        }
    }

    #[test]
    fn every_machine_has_the_same_outputs() {
        let (slow, _) = multiplied(Arch::Scalar, 7, 384, 96);
        let (fast, _) = multiplied(Arch::new(), 7, 384, 96);
        assert_eq!(fast.numbers, slow.numbers);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            let (narrower, _) = multiplied(Arch::V3(simd), 7, 384, 96);
            assert_eq!(narrower.numbers, slow.numbers);
        }
    }

    #[test]
    fn the_largest_inputs_and_weights_do_not_overflow() {
        let linear = Linear::new(&vec![1.0; 1536 * 32], vec![0.0; 32]);
        let inputs = WholeRows::of(&Rows { width: 1536, numbers: vec![-1.0; 1536] });
        for output in linear.apply(Arch::new(), &inputs).numbers {
            assert!((output + 1536.0).abs() < 0.01, "{output}");
        }
    }
}
