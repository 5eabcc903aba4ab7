//! The sections of MGP from end to end: our client against our server, in both eras over every transport.
//!
//! | file | holds |
//! |---|---|
//! | `leg` | the eras and transports |
//! | `host` | a server on a leg, and how its clients connect |
//! | `server`, `tools` | the server of all tests; a child process of the test binary runs it, too |
//! | `raw` | a client that is written line by line, for what is on the wire |
//! | `processes` | what the operating system knows of servers that are processes |
//!
//! `cargo test -p mgp-client-sdk --test sections -- events` runs what has the word in its name.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, and says so")]

mod callbacks;
mod cancelling;
mod events;
mod host;
#[path = "../support/leg.rs"]
mod leg;
mod lifecycle;
mod processes;
mod progress;
mod raw;
#[path = "../matrix/runner.rs"]
mod runner;
#[path = "../matrix/seen.rs"]
mod seen;
mod server;
mod slow;
mod streaming;
mod supervision;
mod tools;
mod wire;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, kind] = &arguments[..]
        && first == leg::SERVE
    {
        return server::serve_stdio(kind);
    }
    let tests = [
        callbacks::TESTS,
        cancelling::TESTS,
        events::TESTS,
        lifecycle::TESTS,
        progress::TESTS,
        slow::TESTS,
        streaming::TESTS,
        supervision::TESTS,
        wire::TESTS,
    ];
    runner::run(&tests.concat())
}
