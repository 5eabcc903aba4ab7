//! Our client against our server, from end to end: every test runs in both eras over every transport.
//!
//! | file | holds |
//! |---|---|
//! | `leg` | the eras and transports |
//! | `dial` | how to connect over them |
//! | `server` | the server of all tests; a child process of the test binary runs it, too |
//! | `seen` | the layer that both sides have around them, and a stack whose type is forgotten |
//! | `runner` | runs each test on each leg and names both when one fails |
//!
//! `cargo test -p mgp-client-sdk --test matrix -- asking` runs what has the word in its name.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and says so")]

mod asking;
mod calls;
mod changes;
mod dial;
#[path = "../support/leg.rs"]
mod leg;
mod lists;
mod mgp;
mod reading;
mod runner;
mod seen;
mod server;
mod session;
mod tasks;
mod telling;
mod vendor;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, speaks] = &arguments[..]
        && first == leg::SERVE
    {
        return server::serve_stdio(speaks);
    }
    let tests = [
        asking::TESTS,
        calls::TESTS,
        changes::TESTS,
        lists::TESTS,
        mgp::TESTS,
        reading::TESTS,
        session::TESTS,
        tasks::TESTS,
        telling::TESTS,
        vendor::TESTS,
    ];
    runner::run(&tests.concat())
}
