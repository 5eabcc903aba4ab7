use mgp_types::mgp::{ServerId, ToolName};
use mgp_types::{Error, Method, Request};

/// What a request is for: a server, and the tool of it that a `tools/call` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestTarget {
    /// The server.
    pub(crate) server: ServerId,
    /// The tool; `None` for what is no call of a tool.
    pub(crate) tool: Option<ToolName>,
}

impl RequestTarget {
    /// What `request` is for: what the catalog resolved it to, or else `server` and the tool that the body names.
    ///
    /// The tool is read from the body and never from a header, for the body is what the server will read.
    ///
    /// # Errors
    /// Nobody resolved the request and no server is given, or a call names no tool.
    pub(crate) fn of(request: &Request, server: Option<&ServerId>) -> Result<Self, Error> {
        if let Some(resolved) = &request.context.tool {
            return Ok(Self { server: resolved.server.clone(), tool: Some(resolved.name.clone()) });
        }
        let server =
            server.cloned().ok_or_else(|| Error::invalid_request("nobody says which server this is for"))?;
        if request.method != Method::TOOLS_CALL {
            return Ok(Self { server, tool: None });
        }
        let name = request.params.text("name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| Error::invalid_params("`name` is missing"))?;
        Ok(Self { server, tool: Some(ToolName::new(&*name)) })
    }
}
