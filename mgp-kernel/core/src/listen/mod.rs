//! The ways into the kernel: HTTP, standard input and output, and the two sockets, for operators and for agents.

mod control;
pub(crate) mod http;
pub mod inherited;
mod notifications;
mod page;
mod peers;
pub mod serve;
#[cfg_attr(windows, path = "service_manager_windows.rs")]
pub mod service_manager;
pub mod socket;
