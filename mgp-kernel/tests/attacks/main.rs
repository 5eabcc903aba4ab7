//! What attackers did to a kernel that really runs, and what has to come of it: a file of tests for each way.
//! `docs/security.md` lists them.
//!
//! `cargo test -p mgp-kernel --test attacks -- folder` runs what has the word in its name.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and says so")]
#![allow(
    clippy::unnecessary_debug_formatting,
    reason = "what Debug makes of a path is a string of TOML, too"
)]
#![allow(dead_code, reason = "files that several test programs share have what only some of them use")]

mod access_patterns;
mod addresses;
mod approves_itself;
#[path = "../support/certificate.rs"]
mod certificate;
mod clients_shell;
mod cloned_folder;
mod commands;
mod confinement;
mod connections;
mod definitions;
mod full_disk;
mod held;
#[path = "../support/home.rs"]
mod home;
#[path = "../support/http.rs"]
#[allow(dead_code, reason = "other tests need the rest")]
mod http;
#[cfg(feature = "sso")]
#[path = "../../../mgp-client-sdk/tests/identity_provider/mod.rs"]
mod identity_provider;
#[path = "../support/program.rs"]
mod kernel;
mod kernel_words;
mod lenient_names;
#[cfg(feature = "sso")]
mod logins;
mod loopback;
mod open_folders;
#[cfg(feature = "sso")]
mod page_logins;
mod paths;
mod principals;
mod questions;
mod record;
mod registration;
mod resources;
#[path = "../support/runner.rs"]
mod runner;
mod server;
#[cfg(feature = "sso")]
mod tokens;
mod unknown_methods;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|argument| argument == server::SERVE) {
        return server::serve();
    }
    let tests = [
        commands::TESTS,
        approves_itself::TESTS,
        clients_shell::TESTS,
        loopback::TESTS,
        confinement::TESTS,
        cloned_folder::TESTS,
        paths::TESTS,
        open_folders::TESTS,
        principals::TESTS,
        questions::TESTS,
        connections::TESTS,
        lenient_names::TESTS,
        kernel_words::TESTS,
        registration::TESTS,
        record::TESTS,
        full_disk::TESTS,
        resources::TESTS,
        definitions::TESTS,
        held::TESTS,
        unknown_methods::TESTS,
        access_patterns::TESTS,
        addresses::TESTS,
        #[cfg(feature = "sso")]
        tokens::TESTS,
        #[cfg(feature = "sso")]
        logins::TESTS,
        #[cfg(feature = "sso")]
        page_logins::TESTS,
    ];
    runner::run(&tests.concat())
}
