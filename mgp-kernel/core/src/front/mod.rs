//! The gates and services between a client and the router that are the kernel's own; `kernel/stack.rs` says where each of them
//! stands. Those in front of a server are in [`call`](crate::call).

pub(crate) mod cancel;
pub(crate) mod connection_role;
pub(crate) mod delegation;
pub(crate) mod fallback;
pub(crate) mod listed_tools;
pub(crate) mod resolve;
pub(crate) mod suggestion;
