//! All tools, with their definitions as their servers wrote them; what a model is shown of them is another list.

use mgp_security::definition::DefinitionKind;
use mgp_types::RawJson;
use mgp_types::mgp::{NameStyle, RiskLevel, ServerId, ToolName};
use serde::{Deserialize, Serialize};

use super::page::Page;
use crate::parts::Parts;

/// Asks for tools: all, those of a server, or one by the name that clients call it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListTools {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_id: Option<ServerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(flatten)]
    pub(crate) page: Page,
}

/// Some of the tools.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ToolPage {
    pub(crate) tools: Vec<ToolRow>,
    /// Names like the one that was asked for, if there is none of that name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) near: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
}

/// A tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ToolRow {
    /// The name that clients call it by.
    pub(crate) name: String,
    pub(crate) server_id: ServerId,
    pub(crate) tool_name: ToolName,
    pub(crate) risk: RiskLevel,
    /// Whether its definition is approved, so that it may be used.
    pub(crate) admitted: bool,
    pub(crate) definition: RawJson,
}

pub(super) fn list(parts: &Parts, asked: &ListTools) -> ToolPage {
    let snapshot = parts.catalog.snapshot();
    let row = |tool: &std::sync::Arc<mgp_discovery::catalog::CatalogTool>| {
        let resolved = &tool.resolved;
        ToolRow {
            name: tool.shown.to_string(),
            server_id: resolved.server.clone(),
            tool_name: resolved.name.clone(),
            risk: resolved.security.risk,
            admitted: parts.definitions.is_admitted_anywhere(
                &resolved.server,
                DefinitionKind::Tool,
                resolved.name.as_str(),
            ),
            definition: tool.definition(NameStyle::DOTS),
        }
    };
    if let Some(name) = &asked.name {
        let tools: Vec<_> = snapshot.called(name).into_iter().map(row).collect();
        let near = if tools.is_empty() { snapshot.near(name, |_| true) } else { Vec::new() };
        return ToolPage {
            tools,
            near: near.iter().map(|tool| tool.shown.to_string()).collect(),
            next_offset: None,
        };
    }
    let of = |tool: &&std::sync::Arc<mgp_discovery::catalog::CatalogTool>| {
        asked.server_id.as_ref().is_none_or(|server| *server == tool.resolved.server)
    };
    let (tools, next_offset) = asked.page.of(snapshot.tools().iter().filter(of).map(row));
    ToolPage { tools, near: Vec::new(), next_offset }
}
