//! Runs a family of schedules, one for each seed.

use std::cell::Cell;
use std::fmt::{Display, Write};
use std::panic;
use std::sync::Once;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::tally::Tally;

/// The number of times that each family is run.
pub(crate) const SEEDS: u64 = 1000;

/// Names the one seed that is to be run.
const SEED: &str = "FAULT_SEED";

/// Runs `run` with the plan of each seed, and fails with all that it says was wrong, or if too little happened.
pub(crate) async fn counted<P: Display, F>(
    plan: impl Fn(u64) -> P,
    run: impl Fn(P, Tally) -> F,
    least: &[(&'static str, usize)],
) where
    F: Future<Output = Vec<String>> + Send + 'static,
{
    let tally = Tally::default();
    seeds(plan, |plan| run(plan, tally.clone())).await;
    tally.expect(least);
}

/// Runs `run` with the plan of each seed, and fails with all that it says was wrong.
///
/// After each run the runtime must be as it was before, and nothing may have panicked, in whatever task.
pub(crate) async fn seeds<P: Display, F>(plan: impl Fn(u64) -> P, run: impl Fn(P) -> F)
where
    F: Future<Output = Vec<String>> + Send + 'static,
{
    count_panics();
    let seeds = match std::env::var(SEED) {
        Ok(seed) => {
            let seed = seed.parse().expect("FAULT_SEED is a number");
            println!("{}", plan(seed));
            seed..seed + 1
        }
        Err(_) => 0..SEEDS,
    };
    let mut report = String::new();
    let mut failed = 0;
    for seed in seeds {
        let wrong = one(run(plan(seed))).await;
        if wrong.is_empty() {
            continue;
        }
        failed += 1;
        if failed <= SHOWN {
            let _ = writeln!(report, "{SEED}={seed} replays this:\n{}  {}\n", plan(seed), wrong.join("\n  "));
        }
    }
    assert!(failed == 0, "{failed} seed(s) failed\n\n{report}");
}

/// Returns whether no single seed is asked for.
pub(crate) fn runs_all_seeds() -> bool {
    std::env::var_os(SEED).is_none()
}

async fn one(run: impl Future<Output = Vec<String>> + Send + 'static) -> Vec<String> {
    let (before, panics) = (tasks(), PANICS.get());
    let mut task = tokio::spawn(run);
    let mut wrong = match tokio::time::timeout(LONGEST, &mut task).await {
        Ok(Ok(wrong)) => wrong,
        Ok(Err(error)) => vec![error.to_string()],
        Err(_) => {
            task.abort();
            vec!["it did not end".to_owned()]
        }
    };
    if PANICS.get() != panics {
        wrong.push("something panicked".to_owned());
    }
    let left = left_over(before).await;
    if left > 0 {
        wrong.push(format!("{left} task(s) left"));
    }
    wrong
}

/// Returns how many more tasks there are than `before`, after those that are about to end have ended.
pub(crate) async fn left_over(before: usize) -> usize {
    for _ in 0..200 {
        if tasks() <= before {
            return 0;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tasks() - before
}

pub(crate) fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Counts the panics of each thread. The runtime of a test is one thread.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICS.set(PANICS.get() + 1);
            default(info);
        }));
    });
}

thread_local! {
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

/// No run takes as long, in its own time.
const LONGEST: Duration = Duration::from_hours(1);
/// The number of failures that are printed in full.
const SHOWN: u64 = 3;
