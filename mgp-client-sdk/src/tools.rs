//! Tools: listing, searching and calling.

use mgp_types::json::write_string;
use mgp_types::mcp::{CallToolResult, ListToolsParams, Tool};
use mgp_types::mgp::{
    DiscoverTools, DiscoveredTools, EvictTools, EvictedTools, RequestTools, RequestedTools, ToolSession,
    method,
};
use mgp_types::{Error, Method, Object, Params, Request, Response, RpcService};
use serde::Serialize;

use crate::{Call, Client, Pages};

impl<S: RpcService> Client<S> {
    /// Lists the tools, page by page.
    pub fn tools(&self) -> Pages<S, ListToolsParams> {
        Pages::new(self.clone())
    }

    /// Lists all tools.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn list_tools(&self) -> Result<Vec<Tool>, Error> {
        self.tools().all().await
    }

    /// Calls a tool. The arguments are an object, or `()` for none.
    ///
    /// A tool that fails answers with a result, too: see [`CallToolResult::is_error`]. [`start_tool`](Self::start_tool)
    /// calls a tool that goes on as a task.
    pub fn call_tool(&self, name: &str, arguments: impl Serialize) -> Call<S, CallToolResult> {
        self.call(tool_request(name, &arguments), read_result)
    }
}

/// Writes the request at once: arguments that are known to be JSON are not parsed again.
pub(crate) fn tool_request<T: Serialize>(name: &str, arguments: &T) -> Result<Request, Error> {
    named_request(Method::TOOLS_CALL, name, arguments)
}

/// Returns a request whose params are a name and arguments.
pub(crate) fn named_request<T: Serialize>(
    method: Method,
    name: &str,
    arguments: &T,
) -> Result<Request, Error> {
    let mut params = Vec::with_capacity(128);
    params.extend_from_slice(br#"{"name":"#);
    write_string(&mut params, name);
    let without_arguments = params.len();
    params.extend_from_slice(br#","arguments":"#);
    let arguments_start = params.len();
    serde_json::to_writer(&mut params, arguments).map_err(|error| not_an_object().with_source(error))?;
    match params.get(arguments_start) {
        Some(b'{') => {}
        Some(b'n') => params.truncate(without_arguments),
        _ => return Err(not_an_object()),
    }
    params.push(b'}');
    let params = Object::parse(params).map_err(|error| not_an_object().with_source(error))?;
    Ok(Request::call(method, params))
}

fn not_an_object() -> Error {
    Error::invalid_params("the arguments are not a JSON object")
}

fn read_result(response: &Response) -> Result<CallToolResult, Error> {
    response.body().map_err(|error| {
        let task = Object::from_raw(&response.result)
            .is_ok_and(|result| result.contains("task") || result.contains("taskId"));
        if task { Error::misbehaved("the tool goes on as a task, which was not asked for") } else { error }
    })
}

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
