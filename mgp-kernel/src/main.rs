//! The program `mgp`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mgp_kernel::cli::run(std::env::args_os())
}
