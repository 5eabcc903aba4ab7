//! Servers behind the kernel: connected, kept alive, and heard, as clients in front of it find them.
//!
//! `cargo test -p mgp-kernel --test upstream -- progress` runs what has the word in its name.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and says so")]

mod agents;
mod audit;
mod creation;
mod fallback;
mod fleet;
mod host;
mod registration;
mod server;
mod subscribing;
mod telling;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::ExitCode;

/// A test, and what it is called.
pub(crate) type Test = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

/// The tests of a file.
macro_rules! tests {
    ($($name:ident,)+) => {
        pub(crate) const TESTS: &[crate::Test] = &[$((stringify!($name), || Box::pin($name()))),+];
    };
}
pub(crate) use tests;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == server::SERVE) {
        return server::serve_stdio();
    }
    let words: Vec<_> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let mut failed = 0;
    for (name, test) in [
        fleet::TESTS,
        telling::TESTS,
        agents::TESTS,
        audit::TESTS,
        registration::TESTS,
        fallback::TESTS,
        creation::TESTS,
        subscribing::TESTS,
    ]
    .concat()
    {
        if !words.iter().all(|word| name.contains(word.as_str())) {
            continue;
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(test())));
        runtime.shutdown_background();
        println!("test {name} ... {}", if outcome.is_ok() { "ok" } else { "FAILED" });
        failed += usize::from(outcome.is_err());
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
