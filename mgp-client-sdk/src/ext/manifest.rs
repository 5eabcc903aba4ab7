//! The service manifest.

use mgp_types::ext::{GetManifest, ServiceManifest};
use mgp_types::mgp::method;
use mgp_types::{Request, Response, RpcService};

use crate::{Call, Client};

impl<S: RpcService> Client<S> {
    /// Asks for the service manifest: one document about all tools, with their limits, costs and scopes.
    ///
    /// The manifest is cached as long as it says, and asked for again once the server tells that it changed;
    /// [`clear_cache`](Client::clear_cache) forgets it earlier.
    pub fn manifest(&self) -> Call<S, ServiceManifest> {
        self.call(Request::with_body(method::MANIFEST_GET, &GetManifest::default()), Response::body)
    }
}
