//! Calls in envelopes to any service that speaks MCP: a server in this process, or one behind a client.

use super::{ProjectedNames, ToolCall, ToolResult};
use crate::{Error, Object, Params, RawJson, Request, RpcService, call_once};

/// Makes calls in envelopes of a service that speaks MCP, so that every tool of it can be called that way.
///
/// A tool is called `module.tool`; names that envelopes cannot have are changed as in [`ProjectedNames`]. The tools are
/// listed once, when the client is made.
#[derive(Debug, Clone)]
pub struct EnvelopeClient<S> {
    service: S,
    names: ProjectedNames<String>,
}

/// The most pages of a list of tools that are read.
const MAX_PAGES: usize = 1_000;

impl<S: RpcService> EnvelopeClient<S> {
    /// Lists the tools of `service`, and gives them names in `module`.
    ///
    /// # Errors
    /// The list fails.
    pub async fn new(mut service: S, module: &str) -> Result<Self, Error> {
        let mut tools: Vec<String> = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut params = Params::new();
            if let Some(cursor) = &cursor {
                params.set("cursor", RawJson::from_text(cursor));
            }
            let page = call_once(&mut service, Request::call("tools/list", params)).await?;
            let page = Object::from_raw(&page.to_raw())
                .map_err(|_| Error::misbehaved("the list of tools is no object"))?;
            let listed: Vec<Object> = page.get("tools").and_then(|tools| tools.to().ok()).unwrap_or_default();
            tools.extend(listed.iter().filter_map(|tool| Some(tool.text("name")?.into_owned())));
            cursor = page.text("nextCursor").map(std::borrow::Cow::into_owned);
            if cursor.is_none() {
                break;
            }
        }
        let names = ProjectedNames::dotted(tools.iter().map(|tool| (module, tool.as_str(), tool.clone())));
        Ok(Self { service, names })
    }

    /// Returns the names of the tools.
    pub fn names(&self) -> &[Box<str>] {
        self.names.names()
    }

    /// Makes a call. Whatever goes wrong is a failed result.
    pub async fn call(&mut self, call: &ToolCall) -> ToolResult {
        let name = call.tool_name.as_str();
        let mut params = Params::new();
        params.set("name", RawJson::from_text(self.names.tool(name).map_or(name, |tool| tool)));
        params.set("arguments", call.arguments.to_raw());
        ToolResult::of_call(&call_once(&mut self.service, Request::call("tools/call", params)).await)
    }
}
