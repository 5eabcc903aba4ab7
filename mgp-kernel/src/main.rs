//! The program `mgp`.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A call makes and drops some eighty small values, each in a third of the instructions that the system's allocator takes.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    mgp_kernel::cli::run(std::env::args_os())
}
