//! Products of whole numbers, by vector instructions.

#![expect(clippy::inline_always, reason = "the vector instructions reach only what is inlined")]

use pulp::bytemuck::Pod;

/// The number of outputs whose weights lie together.
pub(super) const BLOCK: usize = 16;

/// The weights of a block for two neighbouring inputs: both of the first output, both of the second, and so on.
pub(super) type PairWeights = [[i16; 2]; BLOCK];

/// Vector instructions that multiply pairs of inputs with the weights of a block, and add up. Products of `BLOCKS`
/// blocks with a few rows of inputs fill the registers.
pub(super) trait Lanes<const BLOCKS: usize>: Copy {
    /// [`PairWeights`] in registers.
    type Weights: Pod;
    type Pair: Copy;
    /// A sum for each output of a block.
    type Sums: Pod;
    /// Sums of more than fit into whole numbers: a number for each output of a block.
    type Totals: Pod;

    fn pair(self, inputs: [i16; 2]) -> Self::Pair;
    fn add(self, sums: Self::Sums, weights: Self::Weights, inputs: Self::Pair) -> Self::Sums;
    fn total(self, totals: Self::Totals, sums: Self::Sums) -> Self::Totals;
}

#[cfg(target_arch = "x86_64")]
impl Lanes<2> for pulp::x86::V4 {
    type Weights = pulp::i16x32;
    type Pair = pulp::i16x32;
    type Sums = pulp::i32x16;
    type Totals = pulp::f32x16;

    #[inline(always)]
    fn pair(self, inputs: [i16; 2]) -> pulp::i16x32 {
        pulp::cast(self.splat_i32x16(pulp::cast(inputs)))
    }

    #[inline(always)]
    fn add(self, sums: pulp::i32x16, weights: pulp::i16x32, inputs: pulp::i16x32) -> pulp::i32x16 {
        self.wrapping_add_i32x16(sums, self.multiply_wrapping_add_adjacent_i16x32(weights, inputs))
    }

    #[inline(always)]
    fn total(self, totals: pulp::f32x16, sums: pulp::i32x16) -> pulp::f32x16 {
        self.add_f32x16(totals, self.convert_i32x16_to_f32x16(sums))
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes<1> for pulp::x86::V3 {
    type Weights = [pulp::i16x16; 2];
    type Pair = pulp::i16x16;
    type Sums = [pulp::i32x8; 2];
    type Totals = [pulp::f32x8; 2];

    #[inline(always)]
    fn pair(self, inputs: [i16; 2]) -> pulp::i16x16 {
        pulp::cast(self.splat_i32x8(pulp::cast(inputs)))
    }

    #[inline(always)]
    fn add(
        self,
        sums: [pulp::i32x8; 2],
        weights: [pulp::i16x16; 2],
        inputs: pulp::i16x16,
    ) -> [pulp::i32x8; 2] {
        let product = |half: usize| self.multiply_wrapping_add_adjacent_i16x16(weights[half], inputs);
        [self.wrapping_add_i32x8(sums[0], product(0)), self.wrapping_add_i32x8(sums[1], product(1))]
    }

    #[inline(always)]
    fn total(self, totals: [pulp::f32x8; 2], sums: [pulp::i32x8; 2]) -> [pulp::f32x8; 2] {
        let total = |half: usize| self.add_f32x8(totals[half], self.convert_i32x8_to_f32x8(sums[half]));
        [total(0), total(1)]
    }
}

/// The lanes of other machines, left to the compiler.
#[derive(Clone, Copy)]
pub(super) struct ScalarLanes;

impl Lanes<1> for ScalarLanes {
    type Weights = PairWeights;
    type Pair = [i16; 2];
    type Sums = [i32; BLOCK];
    type Totals = [f32; BLOCK];

    #[inline(always)]
    fn pair(self, inputs: [i16; 2]) -> [i16; 2] {
        inputs
    }

    #[inline(always)]
    fn add(self, mut sums: [i32; BLOCK], weights: PairWeights, [one, other]: [i16; 2]) -> [i32; BLOCK] {
        for (sum, [of_one, of_other]) in sums.iter_mut().zip(weights) {
            *sum += i32::from(one) * i32::from(of_one) + i32::from(other) * i32::from(of_other);
        }
        sums
    }

    #[inline(always)]
    fn total(self, mut totals: [f32; BLOCK], sums: [i32; BLOCK]) -> [f32; BLOCK] {
        for (total, sum) in totals.iter_mut().zip(sums) {
            #[expect(clippy::cast_precision_loss, reason = "what is lost is less than what rounding lost")]
            let sum = sum as f32;
            *total += sum;
        }
        totals
    }
}
