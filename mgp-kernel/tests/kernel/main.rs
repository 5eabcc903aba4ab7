//! End-to-end tests of the kernel with real servers: child processes, or servers behind HTTP. `sections` covers the
//! specification; `upstream` covers how servers are connected and kept alive.
//!
//! `cargo test -p mgp-kernel --test kernel -- process` runs the tests with that word in their names.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says so"
)]

mod approval;
mod callers;
mod cancelling;
mod carried;
mod data;
mod definitions;
mod effects;
#[path = "../../../mgp-toolindex/examples/eval/evaluation/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the search needs a part")]
mod evaluation;
mod flows;
mod front;
mod harmless;
#[path = "../support/home.rs"]
#[allow(dead_code, reason = "other tests need the rest")]
mod home;
mod host;
#[path = "../support/http.rs"]
#[allow(dead_code, reason = "other tests need the rest")]
mod http;
#[path = "../support/program.rs"]
#[allow(dead_code, reason = "other tests need the rest")]
mod kernel;
mod legacy;
mod lives;
mod loose;
mod methods;
mod pairings;
mod patience;
mod processes;
mod record;
mod registry;
mod reload;
mod replicas;
#[path = "../support/runner.rs"]
mod runner;
mod scopes;
mod scripted;
mod search;
mod sections;
mod sessions;
mod shapes;
mod sizes;
mod streams;
mod talking;
mod transactions;
mod upstream;
mod web;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some(scripted::SERVE) => return scripted::serve(),
        Some(talking::SERVE) => return talking::serve(),
        Some(cancelling::SERVE) => return cancelling::serve(),
        Some(processes::KERNEL) => return processes::run_kernel(&arguments[1..]),
        Some(upstream::server::SERVE) => return upstream::server::serve_stdio(),
        _ => {}
    }
    mgp_kernel::set_confinement_launcher(env!("CARGO_BIN_EXE_mgp"));
    let tests = [
        lives::TESTS,
        processes::TESTS,
        sessions::TESTS,
        shapes::TESTS,
        replicas::TESTS,
        callers::TESTS,
        streams::TESTS,
        cancelling::TESTS,
        loose::TESTS,
        search::TESTS,
        definitions::TESTS,
        approval::TESTS,
        record::TESTS,
        reload::TESTS,
        sizes::TESTS,
        effects::TESTS,
        transactions::TESTS,
        flows::TESTS,
        harmless::TESTS,
        pairings::TESTS,
        legacy::TESTS,
        patience::TESTS,
        front::TESTS,
        methods::TESTS,
        scopes::TESTS,
        carried::TESTS,
        data::TESTS,
    ];
    runner::run(&[tests.concat(), upstream::tests(), sections::tests(), registry::tests()].concat())
}
