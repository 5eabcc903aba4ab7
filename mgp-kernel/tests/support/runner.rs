//! Runs the tests of a binary that is also started as a server.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

/// A test, and what it is called.
pub(crate) type Test = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

/// The tests of a file.
macro_rules! tests {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const TESTS: &[$crate::runner::Test] =
            &[$((stringify!($name), || Box::pin($name()))),+];
    };
}
pub(crate) use tests;

/// Runs each test in a runtime of its own. Of the arguments, words choose by name.
pub(crate) fn run(tests: &[Test], arguments: &[String]) -> ExitCode {
    let words: Vec<_> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let mut failed = 0;
    for (name, test) in tests {
        if !words.iter().all(|word| name.contains(word.as_str())) {
            continue;
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                tokio::time::timeout(LONGEST, test()).await.expect("the test did not end in time");
            });
        }));
        runtime.shutdown_background();
        println!("test {name} ... {}", if outcome.is_ok() { "ok" } else { "FAILED" });
        failed += usize::from(outcome.is_err());
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

const LONGEST: Duration = Duration::from_mins(2);
