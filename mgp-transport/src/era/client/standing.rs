//! The requests of a session that have to be repeated in the next one.

use mgp_types::{Method, Request};
use parking_lot::Mutex;

/// The lasting wishes of a session, which are repeated in the next one: the log level and the resources whose changes
/// matter.
#[derive(Debug, Default)]
pub(super) struct Standing(Mutex<Vec<Request>>);

impl Standing {
    /// Notes a request that the server has answered.
    pub(super) fn note(&self, request: &Request) {
        let sets = request.method == Method::SET_LEVEL || request.method == Method::RESOURCES_SUBSCRIBE;
        if !sets && request.method != Method::RESOURCES_UNSUBSCRIBE {
            return;
        }
        let mut requests = self.0.lock();
        requests.retain(|earlier| !replaces(request, earlier));
        if sets && requests.len() < MOST {
            // The caller's context, and the message that the request came in, are not kept.
            let params = mgp_types::Params::from_raw(&request.params.to_raw().detached()).unwrap_or_default();
            requests.push(Request::new(request.kind, request.method.clone(), params));
        }
    }

    /// Returns the requests that make a new session like the old one.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.0.lock().clone()
    }
}

/// The number of requests that are repeated; further ones are not.
const MOST: usize = 1024;

fn replaces(later: &Request, earlier: &Request) -> bool {
    let is_level = |request: &Request| request.method == Method::SET_LEVEL;
    match (is_level(later), is_level(earlier)) {
        (true, true) => true,
        (false, false) => later.params.text("uri") == earlier.params.text("uri"),
        _ => false,
    }
}
