//! The gates and services that a call passes in front of a server, beside those of the sections; `kernel/stack.rs` says where
//! each of them stands.

pub(crate) mod calls_in_work;
pub(crate) mod checkpoints;
pub(crate) mod effects;
pub(crate) mod hints;
pub(crate) mod meter;
pub(crate) mod registry_timeout;
pub(crate) mod repeated_headers;
pub(crate) mod server_meta;
pub(crate) mod session_state;

use std::future::{Ready, ready};

use memchr::memmem::Finder;
use mgp_types::{Error, Object, Request, Response};
use tower_service::Service;

/// The key of `_meta` under which a client names the agent in whose name it calls, and the kernel tells its own servers who
/// does.
pub(crate) const AGENT_META: &str = "dev.cloto/mgp/agent";

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

/// A service that answers every request with this error.
#[derive(Debug, Clone)]
pub(crate) struct RefusingService(pub(crate) Error);

impl Service<Request> for RefusingService {
    type Future = Ready<Result<Response, Error>>;

    mgp_types::always_ready!();

    fn call(&mut self, _: Request) -> Self::Future {
        ready(Err(self.0.clone()))
    }
}
