//! What a call meets on its way beside the gates of the sections; `stack.rs` says where each of it stands.

pub(crate) mod cancel;
pub(crate) mod connection_role;
pub(crate) mod delegation;
pub(crate) mod erased;
pub(crate) mod fallback;
pub(crate) mod meter;
pub(crate) mod resolve;
