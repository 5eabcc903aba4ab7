//! Servers behind the kernel: connected, kept alive, and heard, as clients in front of it find them.
//!
//! `cargo test -p mgp-kernel --test upstream -- progress` runs what has the word in its name.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says so"
)]

mod agents;
mod audit;
mod creation;
mod events;
mod fallback;
mod fleet;
mod host;
mod registration;
#[path = "../support/runner.rs"]
mod runner;
mod server;
mod subscribing;
mod telling;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == server::SERVE) {
        return server::serve_stdio();
    }
    mgp_kernel::set_confinement_launcher(env!("CARGO_BIN_EXE_mgp"));
    let tests = [
        fleet::TESTS,
        telling::TESTS,
        agents::TESTS,
        audit::TESTS,
        events::TESTS,
        registration::TESTS,
        fallback::TESTS,
        creation::TESTS,
        subscribing::TESTS,
    ];
    runner::run(&tests.concat())
}
