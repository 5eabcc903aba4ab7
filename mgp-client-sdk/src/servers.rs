//! The servers behind a kernel: their list, registrations, and recommendations.

#[cfg(feature = "ext")]
use mgp_types::ext::{RecommendServers, RecommendedServers};
use mgp_types::mgp::{
    DeregisterServer, DeregisteredServer, ListServers, ListedServers, RegisterServer, RegisteredServer,
    method,
};
use mgp_types::{Request, Response, RpcService};

use crate::{Call, Client};

impl<S: RpcService> Client<S> {
    /// Lists the servers of a kernel that pass the filter, each with its status and its tools.
    pub fn list_servers(&self, wanted: &ListServers) -> Call<S, ListedServers> {
        self.call(Request::with_body(method::DISCOVERY_LIST, wanted), Response::body)
    }

    /// Asks a kernel to add a server. The kernel may wait for an operator's approval before it starts the server.
    pub fn register_server(&self, server: &RegisterServer) -> Call<S, RegisteredServer> {
        self.call(Request::with_body(method::DISCOVERY_REGISTER, server), Response::body)
    }

    /// Asks a kernel to stop and remove a registered server.
    pub fn deregister_server(&self, server: &DeregisterServer) -> Call<S, DeregisteredServer> {
        self.call(Request::with_body(method::DISCOVERY_DEREGISTER, server), Response::body)
    }

    /// Asks which servers have a capability. Nothing is connected because of the answer.
    #[cfg(feature = "ext")]
    pub fn recommend_servers(&self, wanted: &RecommendServers) -> Call<S, RecommendedServers> {
        self.call(Request::with_body(method::DISCOVERY_RECOMMEND, wanted), Response::body)
    }
}
