//! What people ask of gateways most, and what hurts them most: a test for each, end to end through a kernel with servers
//! that really run, as child processes or behind HTTP.
//!
//! `cargo test -p mgp-kernel --test pains -- pain_04` runs what has the word in its name.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and says so")]

mod approval;
mod callers;
mod definitions;
mod front;
mod harmless;
mod host;
mod legacy;
mod lives;
mod methods;
mod pairings;
mod patience;
mod processes;
mod record;
mod reload;
mod replicas;
mod scripted;
mod search;
mod sessions;
mod sizes;
mod streams;
mod talking;
mod web;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

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
    match arguments.first().map(String::as_str) {
        Some(scripted::SERVE) => return scripted::serve(),
        Some(talking::SERVE) => return talking::serve(),
        Some(processes::KERNEL) => return processes::run_kernel(&arguments[1..]),
        _ => {}
    }
    let words: Vec<_> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let all = [
        lives::TESTS,
        processes::TESTS,
        sessions::TESTS,
        replicas::TESTS,
        callers::TESTS,
        streams::TESTS,
        search::TESTS,
        definitions::TESTS,
        approval::TESTS,
        record::TESTS,
        reload::TESTS,
        sizes::TESTS,
        harmless::TESTS,
        pairings::TESTS,
        legacy::TESTS,
        patience::TESTS,
        front::TESTS,
        methods::TESTS,
    ];
    let mut failed = 0;
    for (name, test) in all.concat() {
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
