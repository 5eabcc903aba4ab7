//! All tools, with their definitions as their servers wrote them; the list that a model gets is another one.

use mgp_discovery::catalog::Catalog;
use mgp_security::definition::{DefinitionGuard, DefinitionKind, DefinitionName, server_of};
use mgp_types::RawJson;
use mgp_types::mgp::{NameStyle, ResolvedTool, RiskLevel, ServerId, ToolName};
use serde::{Deserialize, Serialize};

use super::definition_status::{HeldTool, ShownDefinitionStatus, held_tools};
use super::page::PageRequest;

/// The params that ask for tools: all, those of a server, or the tool that clients call by a name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListTools {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_id: Option<ServerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(flatten)]
    pub(crate) page: PageRequest,
}

/// A page of the tools.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ToolPage {
    pub(crate) tools: Vec<ToolRow>,
    /// The tools that are not offered because their definitions are held: all that the request asks for, on the first
    /// page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) held: Vec<HeldTool>,
    /// The names that are like the requested one, if no tool has that name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) near: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
}

/// A tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ToolRow {
    /// The name by which clients call the tool.
    pub(crate) name: String,
    pub(crate) server_id: ServerId,
    pub(crate) tool_name: ToolName,
    pub(crate) risk: RiskLevel,
    /// True if the tool's definition is approved, so that it may be used.
    pub(crate) admitted: bool,
    /// The status of the tool's definition, if it is flagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) standing: Option<ShownDefinitionStatus>,
    pub(crate) definition: RawJson,
}

pub(super) fn list(catalog: &Catalog, definitions: &DefinitionGuard, asked: &ListTools) -> ToolPage {
    let snapshot = catalog.snapshot();
    let row = |tool: &std::sync::Arc<mgp_discovery::catalog::CatalogTool>| {
        let resolved = &tool.resolved;
        ToolRow {
            name: tool.shown.to_string(),
            server_id: resolved.server.clone(),
            tool_name: resolved.name.clone(),
            risk: resolved.security.risk,
            admitted: definitions.is_admitted_anywhere(
                &resolved.server,
                DefinitionKind::Tool,
                resolved.name.as_str(),
            ),
            standing: standing(definitions, resolved),
            definition: tool.definition(NameStyle::DOTS),
        }
    };
    if let Some(name) = &asked.name {
        let tools: Vec<_> = snapshot.called(name).into_iter().map(row).collect();
        let near = if tools.is_empty() { snapshot.near(name, |_| true) } else { Vec::new() };
        return ToolPage {
            tools,
            held: held_tools(definitions, None, Some(name)),
            near: near.iter().map(|tool| tool.shown.to_string()).collect(),
            next_offset: None,
        };
    }
    let of = |tool: &&std::sync::Arc<mgp_discovery::catalog::CatalogTool>| {
        asked.server_id.as_ref().is_none_or(|server| *server == tool.resolved.server)
    };
    let (tools, next_offset) = asked.page.of(snapshot.tools().iter().filter(of).map(row));
    let held = if asked.page.offset == 0 {
        held_tools(definitions, asked.server_id.as_ref(), None)
    } else {
        Vec::new()
    };
    ToolPage { tools, held, near: Vec::new(), next_offset }
}

/// Returns the status of a tool's definition on any connection to its server, if it is held or flagged there.
fn standing(definitions: &DefinitionGuard, tool: &ResolvedTool) -> Option<ShownDefinitionStatus> {
    let name = DefinitionName::new(DefinitionKind::Tool, tool.name.as_str());
    let found = definitions.found().into_iter();
    let mut holders =
        found.filter(|found| found.name == name && server_of(&found.server) == tool.server.as_str());
    ShownDefinitionStatus::of(definitions, &holders.next()?.server, &name)
}
