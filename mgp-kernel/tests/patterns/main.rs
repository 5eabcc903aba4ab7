//! The servers of `mgp-patterns` behind a kernel and its clients.
//!
//! `cargo test -p mgp-kernel --test patterns -- federation` runs what has the word in its name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod context;
mod federation;
#[path = "../support/home.rs"]
#[allow(dead_code, reason = "other tests need the rest")]
mod home;
#[path = "../support/program.rs"]
#[allow(dead_code, reason = "other tests need the rest")]
mod kernel;
#[path = "../support/runner.rs"]
mod runner;
mod sharing;
#[path = "../support/shell_servers.rs"]
#[allow(dead_code, reason = "other tests need the rest")]
mod shell_servers;

use std::process::ExitCode;

use crate::home::Home;

fn main() -> ExitCode {
    // By the name of the program, this is the program.
    let name = std::env::args_os().next().unwrap_or_default();
    if std::path::Path::new(&name).file_name().is_some_and(|name| name == "mgp-patterns") {
        return mgp_patterns::run(std::env::args_os().collect());
    }
    runner::run(&[sharing::TESTS, context::TESTS, federation::TESTS].concat())
}

/// Installs `mgp-patterns` in a home, and returns its path.
fn patterns(home: &Home) -> String {
    let program = home.path("bin/mgp-patterns");
    if !program.exists() {
        std::fs::create_dir_all(home.path("bin")).unwrap();
        // A link that is followed would lose its name.
        let this = std::env::current_exe().unwrap();
        std::fs::hard_link(&this, &program).or_else(|_| std::fs::copy(&this, &program).map(drop)).unwrap();
    }
    program.display().to_string()
}
