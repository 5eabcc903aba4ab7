//! The gates and services that a call passes, beside those of the sections; `stack.rs` says where each of them stands.

pub(crate) mod calls_in_work;
pub(crate) mod cancel;
pub(crate) mod connection_role;
pub(crate) mod delegation;
pub(crate) mod effects;
pub(crate) mod erased;
pub(crate) mod fallback;
pub(crate) mod hints;
pub(crate) mod listed_security;
pub(crate) mod meter;
pub(crate) mod registry_timeout;
pub(crate) mod resolve;
pub(crate) mod session_state;
