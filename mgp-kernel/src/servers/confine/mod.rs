//! Confinement: the limits on what a program that the kernel starts can reach, held by the operating system.
//!
//! The kernel writes into a [`Confinement`] what a server may reach: the system's programs and libraries, its own
//! folder, a temporary folder, and what it was permitted. It does not start the program itself but the launcher, `mgp
//! confine`, which confines its own process and then becomes the program. So there is no moment in which the program
//! runs unconfined, and its children are confined like it.
//!
//! * On Linux Landlock (`linux.rs`) bounds files, TCP ports, and where the system can also abstract sockets and
//!   signals; a seccomp filter takes away what Landlock does not see.
//! * On macOS a profile (`seatbelt.rs`) is given to `sandbox-exec`.
//! * Elsewhere nothing can be confined, and a server that has to be is not started.

mod confined_program;
mod launcher;
#[cfg(target_os = "linux")]
mod linux;
mod program;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
mod spec;
mod support;

pub(crate) use self::confined_program::{Confined, opened};
pub(crate) use self::launcher::{ConfinedLaunch, become_program, launch};
pub use self::launcher::{check_confinement, set_confinement_launcher};
pub(crate) use self::support::support;
