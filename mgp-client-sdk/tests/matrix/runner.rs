//! The runner of the matrix: each test on each of its legs, with the options that `cargo test` knows.

use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use tokio::runtime;

use crate::leg::Leg;

/// A test, and on which legs it runs.
#[derive(Clone, Copy)]
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Leg) -> Pin<Box<dyn Future<Output = ()>>>,
    pub(crate) runs_on: fn(Leg) -> bool,
}

/// The tests of one file: async functions of a [`Leg`], and where not all of them run, on which.
macro_rules! tests {
    ($($name:ident $(if $runs_on:expr)?),+ $(,)?) => {
        pub(crate) const TESTS: &[$crate::runner::Test] = &[$($crate::runner::Test {
            name: concat!(module_path!(), "::", stringify!($name)),
            run: |leg| Box::pin($name(leg)),
            runs_on: $crate::runner::tests!(@ $($runs_on)?),
        }),+];
    };
    (@) => { |_| true };
    (@ $runs_on:expr) => { $runs_on };
}
pub(crate) use tests;

/// Runs each test on each of its legs, in a runtime of its own.
pub(crate) fn run(tests: &[Test]) -> ExitCode {
    let legs = tests.iter().flat_map(|test| Leg::ALL.iter().map(|leg| (*test, *leg)));
    let trial = |(test, leg): (Test, Leg)| {
        Trial::test(format!("{} [{leg}]", test.name.trim_start_matches("matrix::")), move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
            Ok(runtime.block_on(async { tokio::time::timeout(TIMEOUT, (test.run)(leg)).await })?)
        })
    };
    let trials = legs.filter(|(test, leg)| (test.runs_on)(*leg)).map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

const TIMEOUT: Duration = Duration::from_mins(1);
