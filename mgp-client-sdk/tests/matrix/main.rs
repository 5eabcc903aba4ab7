//! Our client against our server, from end to end: every test runs in both eras over every transport.
//!
//! | file | holds |
//! |---|---|
//! | `leg` | the eras and transports |
//! | `host` | a server on a leg, and how its clients connect |
//! | `server` | the server of the tests of MCP; a child process of the test binary runs it, too |
//! | `sections` | the tests of the sections of MGP, with a server of their own |
//! | `seen` | the layer that both sides have around them, and a stack whose type is forgotten |
//! | `runner` | runs each test on each leg and names both when one fails |
//!
//! `cargo test -p mgp-client-sdk --test matrix -- asking` runs what has the word in its name.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and says so")]

mod asking;
mod calls;
mod changes;
mod host;
mod leg;
mod lists;
mod mgp;
mod reading;
mod runner;
mod sections;
mod seen;
mod server;
mod session;
mod tasks;
mod telling;
mod vendor;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, kind] = &arguments[..]
        && first == leg::SERVE
    {
        return host::serve_stdio(kind);
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
    runner::run(&[tests.concat(), sections::tests()].concat())
}
