//! The ways into the kernel: HTTP, standard input and output, and the two sockets, for operators and for agents.

#[cfg(unix)]
mod control;
#[cfg(unix)]
mod descendants;
pub(crate) mod http;
#[cfg(unix)]
pub(crate) mod inherited;
#[cfg(unix)]
pub(crate) mod kernel_note;
#[cfg(unix)]
mod page;
#[cfg(unix)]
pub(crate) mod serve;
#[cfg(unix)]
pub(crate) mod service_manager;
#[cfg(unix)]
pub(crate) mod socket;
