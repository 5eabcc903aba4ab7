//! The program `mgp`.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The allocator of the program: a call makes and drops many small values, for which the system's allocator takes a multiple
/// of the instructions.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let run = || mgp_kernel::cli::run(std::env::args_os());
    if !cfg!(windows) {
        return run();
    }
    // The first thread has a stack of 1 MiB there, which is too small for the futures of some commands.
    let thread = std::thread::Builder::new().stack_size(8 << 20).spawn(run);
    thread.map_or(ExitCode::FAILURE, |thread| thread.join().unwrap_or(ExitCode::FAILURE))
}
