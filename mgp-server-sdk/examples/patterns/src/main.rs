//! The program `mgp-patterns`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mgp_patterns::run(std::env::args_os().collect())
}
