//! The program `mgp`.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The allocator of the program: a call makes and drops many small values, for which the system's allocator takes a multiple
/// of the instructions.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    mgp_kernel::cli::run(std::env::args_os())
}
