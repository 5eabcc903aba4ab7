//! Runs the tests of a binary that is also started as a server, with the options that `cargo test` knows.

use std::num::NonZero;
use std::pin::Pin;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};

/// A test with its name.
pub(crate) type Test = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

/// Lists the tests of a file, some with what has to be so that they can be made: `one, another if has_python`.
macro_rules! tests {
    ($($name:ident $(if $is_possible:ident)?),+ $(,)?) => {
        pub(crate) const TESTS: &[$crate::runner::Test] = &[$((stringify!($name), || Box::pin(async {
            $(if !$is_possible() { return; })?
            $name().await;
        }))),+];
    };
}
pub(crate) use tests;

/// Runs each test in a runtime of its own, a few at a time if nothing else is said.
pub(crate) fn run(tests: &[Test]) -> ExitCode {
    let trial = |&(name, test): &Test| {
        Trial::test(name, move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
            let in_time = runtime.block_on(async { tokio::time::timeout(LONGEST, test()).await });
            runtime.shutdown_background();
            Ok(in_time?)
        })
    };
    let mut arguments = Arguments::from_args();
    // A test waits for its processes nearly all of its time.
    arguments.test_threads.get_or_insert_with(|| 3 * available_parallelism().map_or(1, NonZero::get));
    libtest_mimic::run(&arguments, tests.iter().map(trial).collect()).exit_code()
}

const LONGEST: Duration = Duration::from_mins(2);
