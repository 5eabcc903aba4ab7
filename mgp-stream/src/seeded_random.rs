//! Random schedules for tests. A test that fails prints its seed, and `MGP_SEED=17 cargo test -p mgp-stream
//! NAME_OF_THE_TEST` runs that seed alone.

use std::env;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Builder;

/// Random numbers that follow from a seed (SplitMix64). Clones share the sequence.
#[derive(Debug, Clone)]
pub(crate) struct SeededRandom(Arc<AtomicU64>);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    pub(crate) fn one_in(&self, sides: u64) -> bool {
        self.below(sides) == 0
    }

    pub(crate) fn one_of<T: Copy>(&self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

const SEED: &str = "MGP_SEED";

/// Runs a schedule for each seed, each in a runtime with a time of its own, and gives its outcome to `seen`. Returns
/// whether all seeds were run, so that a test can check their sum.
pub(crate) fn run<F: Future>(
    seeds: Range<u64>,
    schedule: impl Fn(SeededRandom) -> F,
    mut seen: impl FnMut(F::Output),
) -> bool {
    let replayed: Option<u64> = env::var(SEED).ok().map(|seed| seed.parse().expect("MGP_SEED is a number"));
    for seed in replayed.map_or(seeds, |seed| seed..seed + 1) {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let report = SeedReport(seed);
        seen(runtime.block_on(schedule(SeededRandom::new(seed))));
        drop(report);
    }
    replayed.is_none()
}

/// A guard that prints the seed when a test panics.
struct SeedReport(u64);

impl Drop for SeedReport {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("replay with {SEED}={}", self.0);
        }
    }
}
