//! Calls in envelopes: of a tool, and to any service that speaks MCP, in this process or behind a client.

use bytes::Bytes;
use serde::Serialize;

use super::super::written;
use super::{DottedName, EnvelopeFault, EnvelopeReading, ProjectedNames, ToolResult};
use crate::{Error, Object, Params, RawJson, Request, RpcService, call_once};

/// A call of a tool: its name, and its arguments as an object.
///
/// ```
/// use mgp_types::ext::{EnvelopeReading, ToolCall};
///
/// let call = ToolCall::from_json(r#"{"tool_name":"git.log","arguments":{"limit":3}}"#, EnvelopeReading::Strict)?;
/// assert_eq!(call.tool_name.as_str(), "git.log");
/// assert_eq!(call.arguments.get("limit").unwrap().as_bytes(), b"3");
/// # Ok::<(), mgp_types::ext::EnvelopeFault>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The name of the tool.
    pub tool_name: DottedName,
    /// The arguments, by the names of the tool's parameters.
    pub arguments: Object,
}

impl ToolCall {
    /// Creates a call.
    pub const fn new(tool_name: DottedName, arguments: Object) -> Self {
        Self { tool_name, arguments }
    }

    /// Reads a call from JSON in UTF-8.
    pub fn from_json(json: impl Into<Bytes>, reading: EnvelopeReading) -> Result<Self, EnvelopeFault> {
        let object = Object::parse(json).map_err(|error| EnvelopeFault::of_json(&error))?;
        Self::from_object(&object, reading)
    }

    /// Reads a call from an object.
    pub fn from_object(object: &Object, reading: EnvelopeReading) -> Result<Self, EnvelopeFault> {
        let tool_name = object
            .get("tool_name")
            .ok_or_else(|| EnvelopeFault::new("tool_name", "is missing: name the tool to call", None))?;
        let fault = |rule: &str| EnvelopeFault::new("tool_name", rule, Some(&tool_name));
        let text = tool_name.to_text().ok_or_else(|| fault("must be a string"))?;
        let tool_name = DottedName::read(&text).ok_or_else(|| {
            fault("must match ^[a-z0-9_]+(\\.[a-z0-9_]+)+$: small letters, digits and `_`, with a dot between the module and the tool")
        })?;
        let arguments = object.get("arguments").ok_or_else(|| {
            EnvelopeFault::new("arguments", "is missing: send {} for a tool without parameters", None)
        })?;
        let arguments = Object::from_raw(&arguments)
            .map_err(|_| EnvelopeFault::new("arguments", "must be an object", Some(&arguments)))?;
        if reading == EnvelopeReading::Strict {
            let other = object.iter().find(|(name, _)| name != "tool_name" && name != "arguments");
            if let Some((name, _)) = other {
                let name: String = name.chars().take(64).collect();
                let rule = format!("has a member `{name}`, and may have `tool_name` and `arguments` only");
                return Err(EnvelopeFault::new("envelope", rule, None));
            }
        }
        Ok(Self { tool_name, arguments })
    }

    /// Returns the call as JSON without spaces, as it is sent.
    pub fn to_raw(&self) -> RawJson {
        written(self).compact()
    }
}

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
            let params = cursor.as_deref().map(|cursor| ("cursor", RawJson::from_text(cursor)));
            let list = Request::call("tools/list", params.into_iter().collect());
            let page = call_once(&mut service, list).await?;
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
