//! Attention: each piece of a text takes from the others what it asks for.

#![expect(clippy::inline_always, reason = "the vector instructions reach only what is inlined")]

use std::array;

use pulp::{Arch, Simd, WithSimd};

use super::functions::{exp, sum};
use super::rows::Rows;

/// The numbers that are worked on at once; the width of a head is a multiple.
pub(super) const AT_ONCE: usize = 16;

/// Returns what each row takes from all rows. Rows hold the queries of all heads, then their keys, then their values.
pub(super) fn attend(arch: Arch, rows: &Rows, heads: usize) -> Rows {
    let mut taken = Rows::new(rows.count(), rows.width / 3);
    arch.dispatch(Attention { rows, heads, taken: &mut taken });
    taken
}

/// The work of all heads. It is no closure, because the compiler would leave so long a one apart, and without the vector
/// instructions.
struct Attention<'a> {
    rows: &'a Rows,
    heads: usize,
    taken: &'a mut Rows,
}

impl WithSimd for Attention<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, heads, taken } = self;
        for head in 0..heads {
            attend_by_head(rows, head, taken.width / heads, taken);
        }
    }
}

#[inline(always)]
fn attend_by_head(rows: &Rows, head: usize, width: usize, taken: &mut Rows) {
    let count = rows.count();
    let (keys_at, values_at) = (taken.width + head * width, 2 * taken.width + head * width);
    // The same number of neighbouring keys lies together, and the last ones are filled up with zeros.
    let mut keys = vec![[0.0; AT_ONCE]; count.div_ceil(AT_ONCE) * width];
    for (number, row) in rows.iter().enumerate() {
        let group = &mut keys[number / AT_ONCE * width..][..width];
        for (key, of_row) in group.iter_mut().zip(&row[keys_at..][..width]) {
            key[number % AT_ONCE] = *of_row;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a head has less than a hundred numbers")]
    let root = (width as f32).sqrt().recip();
    let head = Head { rows, keys, root, count, width, queries_at: head * width, values_at };
    let mut shares = vec![[0.0; AT_ONCE]; ROWS * count.div_ceil(AT_ONCE)];
    let mut first = 0;
    while first + ROWS <= count {
        head.attend::<ROWS>(first, &mut shares, taken);
        first += ROWS;
    }
    for row in first..count {
        head.attend::<1>(row, &mut shares, taken);
    }
}

/// The number of rows that attend at once: their sums do not have to wait for one another.
const ROWS: usize = 4;

/// A head, with its keys in groups.
struct Head<'a> {
    rows: &'a Rows,
    keys: Vec<[f32; AT_ONCE]>,
    /// The factor of the products with keys.
    root: f32,
    count: usize,
    width: usize,
    queries_at: usize,
    values_at: usize,
}

impl Head<'_> {
    /// Lets `N` rows from `first` on take what they ask for.
    #[inline(always)]
    fn attend<const N: usize>(&self, first: usize, shares: &mut [[f32; AT_ONCE]], taken: &mut Rows) {
        let Self { rows, keys, root, count, width, queries_at, values_at } = self;
        let groups = count.div_ceil(AT_ONCE);
        let queries: [_; N] = array::from_fn(|at| &rows.row(first + at)[*queries_at..][..*width]);
        for (group, keys) in keys.chunks_exact(*width).enumerate() {
            let mut products = [[0.0; AT_ONCE]; N];
            for (number, key) in keys.iter().enumerate() {
                for (products, query) in products.iter_mut().zip(queries) {
                    for (product, key) in products.iter_mut().zip(key) {
                        *product += query[number] * key;
                    }
                }
            }
            for (at, products) in products.iter().enumerate() {
                shares[at * groups + group] = products.map(|product| product * root);
            }
        }
        let mut wholes = [0.0; N];
        for (whole, shares) in wholes.iter_mut().zip(shares.chunks_exact_mut(groups)) {
            let shares = &mut shares.as_flattened_mut()[..*count];
            let most = shares.iter().fold(f32::NEG_INFINITY, |most, share| most.max(*share));
            for share in &mut *shares {
                *share = exp(*share - most);
            }
            *whole = sum(shares, |share| share).recip();
        }
        let shares: [_; N] = array::from_fn(|at| &shares[at * groups..][..groups].as_flattened()[..*count]);
        for part in (0..*width).step_by(AT_ONCE) {
            let mut sums = [[0.0; AT_ONCE]; N];
            for (number, row) in rows.iter().enumerate() {
                let values = &row[values_at + part..][..AT_ONCE];
                for (sums, shares) in sums.iter_mut().zip(shares) {
                    for (sum, value) in sums.iter_mut().zip(values) {
                        *sum += shares[number] * value;
                    }
                }
            }
            for (at, (sums, whole)) in sums.iter().zip(wholes).enumerate() {
                let width = taken.width;
                let taken = &mut taken.numbers[(first + at) * width..][queries_at + part..][..AT_ONCE];
                taken.copy_from_slice(&sums.map(|sum| sum * whole));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_from_the_rows_that_it_asks_for() {
        // Each of 20 rows asks for its neighbour, by a key of its own, and has its number as its value.
        let (count, width) = (20, 32);
        let mut rows = Rows::new(count, 3 * width);
        for (number, row) in rows.iter_mut().enumerate() {
            row[(number + 1) % count] = 100.0;
            row[width + number] = 100.0;
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            row[2 * width..].fill(number as f32);
        }
        let taken = attend(Arch::new(), &rows, 1);
        for (number, row) in taken.iter().enumerate() {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let expected = ((number + 1) % count) as f32;
            assert!(row.iter().all(|value| (value - expected).abs() < 1e-4), "{number}: {row:?}");
        }
    }

    #[test]
    fn a_row_that_asks_for_nothing_takes_the_mean_and_heads_are_apart() {
        let mut rows = Rows::new(2, 96);
        // The first head of the first row has the value 1, the second head of the second row the value 3.
        rows.numbers[64..80].fill(1.0);
        rows.numbers[96 + 80..].fill(3.0);
        let taken = attend(Arch::new(), &rows, 2);
        for row in taken.iter() {
            assert!(row[..16].iter().all(|value| (value - 0.5).abs() < 1e-6), "{row:?}");
            assert!(row[16..].iter().all(|value| (value - 1.5).abs() < 1e-6), "{row:?}");
        }
    }
}
