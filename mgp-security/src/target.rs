//! The server and the tool that a request is for.

use mgp_types::mgp::{ServerId, ToolName};
use mgp_types::{Error, Method, Request};

/// The target of a request: a server, and the tool of it that a `tools/call` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestTarget {
    /// The server that the request is for.
    pub(crate) server: ServerId,
    /// The tool that is called; `None` if the request is not a tool call.
    pub(crate) tool: Option<ToolName>,
}

impl RequestTarget {
    /// Returns the target of `request`: the tool that the catalog resolved, or else `server` and the tool that the body
    /// names.
    ///
    /// The tool is read from the body and never from a header, because the server reads the body.
    ///
    /// # Errors
    /// Fails if the request is not resolved and no server is given, or if a call names no tool.
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
