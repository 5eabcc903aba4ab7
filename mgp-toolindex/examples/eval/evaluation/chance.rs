//! Statistics that tell whether a difference could be chance.

use super::quality::share;

/// Returns the probability of such uneven numbers of wins and losses, or more uneven ones, if a win is as likely as a
/// loss: the two-sided sign test.
pub(crate) fn sign_test(wins: usize, losses: usize) -> f64 {
    let games = wins + losses;
    let fewer = wins.min(losses);
    // The sum is of logarithms, because 2^games exceeds the range of numbers.
    let mut log_ways = 0.0;
    let mut tail = 0.0;
    let all = share(games, 1) * std::f64::consts::LN_2;
    for k in 0..=fewer {
        tail += (log_ways - all).exp();
        log_ways += share(games - k, k + 1).ln();
    }
    (2.0 * tail).min(1.0)
}

const SAMPLES: usize = 2000;
const SEED: u64 = 16;

/// Returns the interval in which the mean of such differences lies in 95 of 100 samples of questions.
pub(crate) fn interval(differences: &[f64]) -> (f64, f64) {
    if differences.is_empty() {
        return (0.0, 0.0);
    }
    let mut random = SeededRandom(SEED);
    let mut means: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let sum: f64 = differences.iter().map(|_| differences[random.below(differences.len())]).sum();
            sum * share(1, differences.len())
        })
        .collect();
    means.sort_by(f64::total_cmp);
    (means[SAMPLES / 40], means[SAMPLES - 1 - SAMPLES / 40])
}

/// A generator of the same numbers each time, so that a report is the same each time.
struct SeededRandom(u64);

impl SeededRandom {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let scaled = (u128::from(z) * limit as u128) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    }
}
