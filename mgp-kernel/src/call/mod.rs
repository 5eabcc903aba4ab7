//! The gates and services that a call passes, beside those of the sections; `stack.rs` says where each of them stands.

pub(crate) mod calls_in_work;
pub(crate) mod cancel;
pub(crate) mod connection_role;
pub(crate) mod delegation;
pub(crate) mod effects;

pub(crate) mod fallback;
pub(crate) mod hints;
pub(crate) mod kernel_options;
pub(crate) mod listed_security;
pub(crate) mod meter;
pub(crate) mod own_server;
pub(crate) mod refusing;
pub(crate) mod registry_timeout;
pub(crate) mod resolve;
pub(crate) mod session_state;

use memchr::memmem::Finder;
use mgp_types::{Object, Request};

/// Returns whether JSON may have a member of this name, which is given with its quotation marks. A member may be written
/// with escapes, so that JSON with a backslash may have any.
pub(crate) fn may_name(json: &[u8], name: &Finder<'_>) -> bool {
    name.find(json).is_some() || memchr::memchr(b'\\', json).is_some()
}

/// Returns the `_meta` of a request if it may have a member of this name. Most have none, and need not be parsed.
pub(crate) fn mentioning(request: &Request, name: &Finder<'_>) -> Option<Object> {
    let meta = request.params.get("_meta")?;
    if may_name(meta.as_bytes(), name) { Object::from_raw(&meta).ok() } else { None }
}
