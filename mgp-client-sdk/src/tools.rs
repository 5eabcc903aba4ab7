//! The offers of a server: tools, resources, prompts, completion, and its description.

use mgp_types::json::write_string;
use mgp_types::mcp::{
    CallToolResult, CompleteParams, CompleteResult, CompletionArgument, CompletionContext, DiscoverParams,
    DiscoverResult, EmptyResult, GetPromptResult, ListPromptsParams, ListResourceTemplatesParams,
    ListResourcesParams, ListToolsParams, Map, Prompt, ReadResourceParams, ReadResourceResult, Reference,
    Resource, ResourceTemplate, SubscribeParams, Tool, UnsubscribeParams,
};
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
        self.call(named_request(Method::TOOLS_CALL, name, &arguments), read_result)
    }

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

    /// Lists the resources, page by page.
    pub fn resources(&self) -> Pages<S, ListResourcesParams> {
        Pages::new(self.clone())
    }

    /// Lists all resources.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn list_resources(&self) -> Result<Vec<Resource>, Error> {
        self.resources().all().await
    }

    /// Lists the templates of resources, page by page.
    pub fn resource_templates(&self) -> Pages<S, ListResourceTemplatesParams> {
        Pages::new(self.clone())
    }

    /// Lists all templates of resources.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Error> {
        self.resource_templates().all().await
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: impl Into<String>) -> Call<S, ReadResourceResult> {
        self.send(&ReadResourceParams::new(uri))
    }

    /// Asks for notifications of one resource's changes, in a session. [`subscribe`](Self::subscribe) works in both
    /// eras and delivers the changes.
    pub fn subscribe_resource(&self, uri: impl Into<String>) -> Call<S, EmptyResult> {
        self.send(&SubscribeParams::new(uri))
    }

    /// Ends [`subscribe_resource`](Self::subscribe_resource).
    pub fn unsubscribe_resource(&self, uri: impl Into<String>) -> Call<S, EmptyResult> {
        self.send(&UnsubscribeParams::new(uri))
    }

    /// Lists the prompts, page by page.
    pub fn prompts(&self) -> Pages<S, ListPromptsParams> {
        Pages::new(self.clone())
    }

    /// Lists all prompts.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Error> {
        self.prompts().all().await
    }

    /// Gets a prompt. The arguments are an object of texts, or `()` for none.
    pub fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Call<S, GetPromptResult> {
        self.call(named_request(Method::PROMPTS_GET, name, &arguments), Response::body)
    }

    /// Asks for values that complete an argument; `given` are the arguments that are known already.
    pub fn complete(
        &self,
        reference: impl Into<Reference>,
        argument: impl Into<String>,
        typed: impl Into<String>,
        given: Map<String>,
    ) -> Call<S, CompleteResult> {
        let mut params = CompleteParams::new(reference, CompletionArgument::new(argument, typed));
        if !given.is_empty() {
            params.context = Some(CompletionContext::new().with_arguments(given));
        }
        self.send(&params)
    }

    /// Asks for the server's description, in the era without sessions.
    pub fn discover(&self) -> Call<S, DiscoverResult> {
        self.send(&DiscoverParams::new())
    }
}

/// Returns a request whose params are a name and arguments. The request is written at once: arguments that are known to be
/// JSON are not parsed again.
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
