//! The search of tools, in place of a list (MGP §16).

use mgp_types::mgp::{
    DiscoverTools, DiscoveredTools, EvictTools, EvictedTools, RequestTools, RequestedTools, ToolSession,
    method,
};
use mgp_types::{Params, Request, Response, RpcService};

use crate::{Call, Client};

impl<S: RpcService> Client<S> {
    /// Searches for tools. Each found tool comes with all facts that a call needs, and can be called at once.
    pub fn discover_tools(&self, wanted: &DiscoverTools) -> Call<S, DiscoveredTools> {
        self.call(Request::with_body(method::TOOLS_DISCOVER, wanted), Response::body)
    }

    /// Asks for tools with certain capabilities. Found tools are in the session from then on.
    pub fn request_tools(&self, wanted: &RequestTools) -> Call<S, RequestedTools> {
        self.call(Request::with_body(method::TOOLS_REQUEST, wanted), Response::body)
    }

    /// Asks for the tools of the session, and the tokens that they take.
    pub fn tool_session(&self) -> Call<S, ToolSession> {
        self.call(Ok(Request::call(method::TOOLS_SESSION, Params::new())), Response::body)
    }

    /// Takes tools from the session, to make room in the context.
    pub fn evict_tools(&self, tools: &EvictTools) -> Call<S, EvictedTools> {
        self.call(Request::with_body(method::TOOLS_SESSION_EVICT, tools), Response::body)
    }
}
