use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a schedule for each of so many seeds, each on a clock of its own, and gives what they come to.
///
/// The seed of the one that fails is named; `MGP_SEED=17 cargo test -p mgp-lifecycle NAME` runs that one alone, where
/// NAME is the name of the test.
pub(crate) fn each_seed<T>(seeds: u64, mut schedule: impl AsyncFnMut(Random) -> T) -> Vec<T> {
    let seeds = match std::env::var("MGP_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..seeds).collect(),
    };
    let mut run = |seed| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let run = AssertUnwindSafe(|| runtime.unwrap().block_on(schedule(Random(seed))));
        catch_unwind(run).unwrap_or_else(|_| panic!("replay with MGP_SEED={seed}"))
    };
    seeds.into_iter().map(&mut run).collect()
}

/// Whether all seeds run, so that there is enough to be seen.
pub(crate) fn is_whole() -> bool {
    std::env::var_os("MGP_SEED").is_none()
}

/// Numbers that follow from a seed (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
