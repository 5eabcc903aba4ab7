//! The runner of the matrix: each test on each of its legs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
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

/// Runs each test on each of its legs. Of the arguments, words choose by name, and `--list` only names.
pub(crate) fn run(tests: &[Test], arguments: &[String]) -> ExitCode {
    let words: Vec<_> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let chosen = tests.iter().flat_map(|test| Leg::ALL.iter().map(|leg| (*test, *leg)));
    let mut chosen: Vec<_> = chosen
        .filter(|(test, leg)| (test.runs_on)(*leg))
        .map(|(test, leg)| (format!("{} [{leg}]", test.name.trim_start_matches("matrix::")), test, leg))
        .filter(|(name, ..)| words.iter().all(|word| name.contains(&**word)))
        .collect();
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, ..) in &chosen {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", chosen.len());
    let total = chosen.len();
    chosen.reverse();
    let (waiting, failed) = (Mutex::new(chosen), Mutex::new(Vec::new()));
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((name, test, leg)) = next(&waiting) {
                    let passed = passes(&name, test, leg);
                    println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
                    if !passed {
                        failed.lock().push(name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    for name in &failed {
        println!("failed: {name}");
    }
    println!("\ntest result: {} passed; {} failed\n", total - failed.len(), failed.len());
    ExitCode::from(u8::from(!failed.is_empty()))
}

/// The lock is not held while the test runs.
fn next<T>(waiting: &Mutex<Vec<T>>) -> Option<T> {
    waiting.lock().pop()
}

/// Runs one test on a thread of its own, whose name stands in the message of a panic.
fn passes(name: &str, test: Test, leg: Leg) -> bool {
    let work = move || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                tokio::time::timeout(TIMEOUT, (test.run)(leg)).await.expect("the test ends in time");
            });
        }));
        outcome.is_ok()
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.unwrap().join().unwrap_or(false)
}

const TIMEOUT: Duration = Duration::from_mins(1);
