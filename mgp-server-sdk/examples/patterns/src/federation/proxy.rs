//! One server of an instance, as if it were here: its tools under their own names, as long as it has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use mgp_server_sdk::{Cx, Server, ServerHandle, Tool, ToolError};
use mgp_types::mgp::{NameStyle, Permission, RiskLevel, SideEffect, ToolSecurity, ValidatorName};
use mgp_types::{BoxFuture, Error, Object, mcp};

use super::call::{RemoteTool, relay};
use super::follow::FollowsTools;
use super::remote::RemoteKernel;

/// A server of an instance, and the definitions of its tools that are offered here.
pub(super) struct Proxy {
    remote: Arc<RemoteKernel>,
    server: String,
    handle: ServerHandle,
    offered: BTreeMap<String, mcp::Tool>,
}

#[async_trait]
impl FollowsTools for Proxy {
    fn remote(&self) -> &Arc<RemoteKernel> {
        &self.remote
    }

    async fn renew(&mut self) -> Result<(), Error> {
        let listed = self.listed().await?;
        for gone in self.offered.keys().filter(|name| !listed.contains_key(*name)) {
            self.handle.remove_tool(gone);
        }
        for (name, definition) in &listed {
            if self.offered.get(name) != Some(definition)
                && let Err(error) = self.handle.add_tool(described(name, definition), self.handler(name))
            {
                tracing::warn!(tool = name, %error, "a tool of an instance is not offered");
            }
        }
        self.offered = listed;
        Ok(())
    }
}

impl Proxy {
    /// Creates the proxy of a server of an instance, whose tools the server of `handle` offers.
    pub(super) fn new(remote: Arc<RemoteKernel>, server: String, handle: ServerHandle) -> Self {
        Self { remote, server, handle, offered: BTreeMap::new() }
    }

    /// Adds the tools that there are now. While the instance is away, there are none.
    pub(super) async fn offer_first(&mut self, mut server: Server) -> Server {
        match self.listed().await {
            Ok(listed) => {
                for (name, definition) in &listed {
                    // One tool that cannot be described here must not keep the others away.
                    let alone = Server::new("", "").tool(described(name, definition), self.handler(name));
                    if let Err(error) = alone.accept() {
                        tracing::warn!(tool = name, %error, "a tool of an instance is not offered");
                        continue;
                    }
                    server = server.tool(described(name, definition), self.handler(name));
                }
                self.offered = listed;
            }
            Err(error) => {
                tracing::warn!(instance = self.remote.name(), %error, "the tools are not listed yet");
            }
        }
        server
    }

    /// Lists the definitions of the server's tools, by the names that the server gives them.
    async fn listed(&self) -> Result<BTreeMap<String, mcp::Tool>, Error> {
        let servers = self.remote.servers().await?;
        let Some(server) = servers.into_iter().find(|server| server.id.as_str() == self.server) else {
            tracing::warn!(
                instance = self.remote.name(),
                server = self.server,
                "the instance has no such server"
            );
            return Ok(BTreeMap::new());
        };
        let definitions = self.remote.tools().await?;
        let named = |name: String| {
            let shown = |tool: &&mcp::Tool| NameStyle::any_is(&tool.name, &self.server, &name);
            definitions.iter().find(shown).map(|definition| (name.clone(), definition.clone()))
        };
        Ok(server
            .tools
            .into_iter()
            .filter(|name| is_offered(name))
            .take(MAX_TOOLS)
            .filter_map(named)
            .collect())
    }

    fn handler(&self, name: &str) -> impl Fn(Object, Cx) -> RelayFuture + Send + Sync + use<> {
        let remote = Arc::clone(&self.remote);
        let tool = Arc::new(RemoteTool { server: self.server.clone(), name: name.to_owned() });
        move |arguments, cx| {
            let (remote, tool) = (Arc::clone(&remote), Arc::clone(&tool));
            Box::pin(async move { Ok(relay(&remote, &tool, &arguments, &cx).await?) })
        }
    }
}

type RelayFuture = BoxFuture<'static, Result<mcp::CallToolResult, ToolError>>;

/// Returns the description of a tool of the instance under its own name. Its arguments are checked there.
fn described(name: &str, definition: &mcp::Tool) -> Tool {
    let mcp::Tool { description, input_schema, .. } = definition.clone();
    let mut tool = Tool::with_schema(name, description.unwrap_or_default(), input_schema)
        .unvalidated()
        .security(&security(definition));
    if let Some(title) = &definition.title {
        tool = tool.title(title);
    }
    if let Some(annotations) = &definition.annotations {
        tool = tool.annotations((**annotations).clone());
    }
    if let Some(schema) = &definition.output_schema {
        tool = tool.output_schema(schema.clone());
    }
    definition.icons.iter().flatten().fold(tool, |tool, icon| tool.icon(icon.clone()))
}

/// Returns the security of a tool here: what its kernel says of it, and that each call leaves this machine.
fn security(definition: &mcp::Tool) -> ToolSecurity {
    let declared = ToolSecurity::of(definition).ok().flatten();
    let mut security = declared.unwrap_or_else(|| ToolSecurity::new(RiskLevel::Dangerous));
    let effective = definition.extra.read::<EffectiveRisk>(ToolSecurity::MEMBER).ok().flatten();
    let effective = effective.and_then(|security| security.effective_risk_level);
    security.risk_level =
        security.risk_level.max(effective.unwrap_or(RiskLevel::Moderate)).max(RiskLevel::Moderate);
    if !security.permissions_required.contains(&Permission::NetworkOutbound) {
        security.permissions_required.push(Permission::NetworkOutbound);
    }
    if !security.side_effects.contains(&SideEffect::Network) {
        security.side_effects.push(SideEffect::Network);
    }
    if matches!(security.validator, None | Some(ValidatorName::None)) {
        security.validator = Some(ValidatorName::NetworkRestricted);
    }
    security
}

/// The risk that another kernel computed for a tool, beside the one that its server declared.
#[derive(serde::Deserialize)]
struct EffectiveRisk {
    effective_risk_level: Option<RiskLevel>,
}

/// Returns whether a tool here can have this name.
fn is_offered(name: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
    let offered = !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(is_legal);
    if !offered {
        tracing::warn!(tool = name, "a tool of an instance is left out: no tool can have its name");
    }
    offered
}

const LONGEST_NAME: usize = 64;
const MAX_TOOLS: usize = 1000;

#[cfg(test)]
mod tests {
    use mgp_types::RawJson;

    use super::*;

    fn security_of(definition: &str) -> ToolSecurity {
        security(&RawJson::parse(definition.to_owned()).unwrap().to().unwrap())
    }

    #[test]
    fn a_tool_is_at_least_as_dangerous_as_its_kernel_found_it() {
        let found = security_of(
            r#"{"name":"git.push","inputSchema":{"type":"object"},
                "security":{"risk_level":"safe","effective_risk_level":"dangerous","validator":"sandbox"}}"#,
        );
        assert_eq!(found.risk_level, RiskLevel::Dangerous);
        assert_eq!(found.validator, Some(ValidatorName::Sandbox));
        let nothing_known = security_of(r#"{"name":"git.push","inputSchema":{"type":"object"}}"#);
        assert_eq!(nothing_known.risk_level, RiskLevel::Dangerous);
    }

    // covers: P-3-13
    #[test]
    fn each_call_needs_the_network_and_is_held_to_its_validator() {
        let found = security_of(
            r#"{"name":"clock.now","inputSchema":{"type":"object"},
                "security":{"risk_level":"safe","effective_risk_level":"safe","validator":"none"}}"#,
        );
        assert_eq!(found.risk_level, RiskLevel::Moderate);
        assert_eq!(found.permissions_required, [Permission::NetworkOutbound]);
        assert_eq!(found.side_effects, [SideEffect::Network]);
        assert_eq!(found.validator, Some(ValidatorName::NetworkRestricted));
    }
}
