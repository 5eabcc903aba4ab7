//! The call of a tool of another kernel: what it streams and reports reaches the caller as it comes.

use std::sync::Arc;

use mgp_client_sdk::StreamPart;
use mgp_security::audit::trace_of;
use mgp_server_sdk::{Cx, ToolError, schemars};
use mgp_types::mcp::CallToolResult;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{MEMBER, method};
use mgp_types::{Error, Object, RawJson};

use super::failure::shortened;
use super::remote::{Instances, RemoteKernel};

/// The arguments of `federated_call`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(super) struct FederatedCall {
    /// The instance: the kernel that has the server.
    instance: String,
    /// The id of the server at that kernel.
    server_id: String,
    /// The name of the tool, as its server gives it.
    tool_name: String,
    /// The arguments of the tool.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    arguments: Object,
}

/// A tool of another kernel: its server, and its name there.
#[derive(Debug, Clone)]
pub(super) struct RemoteTool {
    pub(super) server: String,
    pub(super) name: String,
}

/// Calls one tool of one instance.
pub(super) async fn federated_call(call: FederatedCall, cx: Cx) -> Result<CallToolResult, ToolError> {
    let FederatedCall { instance, server_id, tool_name, arguments } = call;
    let remote = Arc::clone(cx.state::<Instances>()?.get(&instance)?);
    let tool = RemoteTool { server: server_id, name: tool_name };
    Ok(relay(&remote, &tool, &arguments, &cx).await?)
}

/// Calls a tool in the name of the caller of `cx`, who gets its chunks and its progress. The other kernel records the
/// call under the same trace id. Dropping the future takes the call back there.
///
/// # Errors
/// The tool cannot be named, or the instance fails.
pub(super) async fn relay(
    remote: &RemoteKernel,
    tool: &RemoteTool,
    arguments: &Object,
    cx: &Cx,
) -> Result<CallToolResult, Error> {
    let name = tool.full_name()?;
    let trace = trace_of(cx.request());
    let result = remote.with(|client| async move {
        let call = client.call_tool(&name, arguments).request_with(|request| {
            if let Some(trace) = trace {
                request.params.set("trace_id", RawJson::from_text(&trace.to_string()));
            }
        });
        let mut call = call.stream()?;
        while let Some(part) = call.next().await {
            match part {
                StreamPart::Chunk(chunk) if cx.streams() => {
                    // Without anybody to read it, the call is taken back.
                    cx.stream(chunk.content).await.map_err(|_| Error::cancelled())?;
                }
                StreamPart::Progress(report) => {
                    cx.progress(report.progress, Some(1.0), report.message.as_deref()).await;
                }
                _ => {}
            }
        }
        call.finish().await
    });
    Ok(without_way(result.await?))
}

/// Returns the result without what the other kernel says of its own way to the caller: this server says it of its own.
fn without_way(mut result: CallToolResult) -> CallToolResult {
    result.extra.remove(MEMBER);
    if let Some(meta) = &mut result.meta {
        meta.remove(key::SERVER_INFO);
    }
    result.meta = result.meta.filter(|meta| !meta.is_empty());
    result
}

impl RemoteTool {
    /// Returns the name by which a kernel knows the tool of the server, whatever its clients are shown.
    ///
    /// # Errors
    /// The server can have no such id, or the name stands for a tool of the kernel itself.
    fn full_name(&self) -> Result<String, Error> {
        let Self { server, name } = self;
        let is_id = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if server.is_empty() || !server.bytes().all(is_id) {
            return Err(Error::invalid_params(format!(
                "`server_id` {:?} is no id of a server",
                shortened(server)
            )));
        }
        let full = format!("{server}/{name}");
        if name.is_empty() || full.len() > LONGEST_NAME || name.contains(char::is_control) {
            return Err(Error::invalid_params("`tool_name` is empty, too long, or holds control characters"));
        }
        if method::of_tool(&full).is_some() || server.eq_ignore_ascii_case("mgp") {
            return Err(Error::invalid_params(format!(
                "`{full}` is no tool of a server, but of the kernel itself"
            )));
        }
        Ok(full)
    }
}

/// The length of the longest name that a kernel looks up.
const LONGEST_NAME: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn full_name(server: &str, name: &str) -> Result<String, Error> {
        RemoteTool { server: server.into(), name: name.into() }.full_name()
    }

    #[test]
    fn a_tool_is_named_by_its_server_and_nothing_else_can_be() {
        assert_eq!(full_name("git.main", "log.show").unwrap(), "git.main/log.show");
        for (server, name) in [
            ("", "x"),
            ("a/b", "x"),
            ("git", ""),
            ("git", "a\nb"),
            ("mgp", "discovery/register"),
            ("MGP", "x"),
            ("git", &"x".repeat(256)),
        ] {
            assert!(full_name(server, name).is_err(), "{server}/{name}");
        }
    }
}
