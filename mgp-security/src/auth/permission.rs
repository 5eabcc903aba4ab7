use std::sync::Arc;

use mgp_types::mgp::ToolName;
use serde::{Deserialize, Serialize};

/// What a key lets its owner do. A key has exactly those it was given; none includes another.
///
/// A name of tools that ends in `*` stands for all names that begin with what is in front of it: `files.*`, or `*` for
/// every tool. Anywhere else, `*` is a character like others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ApiPermission {
    /// Call this tool, or these, by the name that clients use here.
    ToolInvoke(ToolName),
    /// See this tool, or these, with their schemas.
    ToolRead(ToolName),
    /// See all tools.
    ToolsListAll,
    /// Change what is registered here: servers, tools, who has access.
    AdminWrite,
    /// Read what is registered here.
    AdminRead,
}

/// The permissions of a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApiPermissions(Arc<[ApiPermission]>);

impl ApiPermissions {
    /// Those in `permissions` and no others.
    pub fn new(permissions: impl IntoIterator<Item = ApiPermission>) -> Self {
        Self(permissions.into_iter().collect())
    }

    /// Whether `permission` is among them.
    pub fn contains(&self, permission: &ApiPermission) -> bool {
        self.0.contains(permission)
    }

    /// Whether they allow calling `tool`.
    pub fn allow_invoking(&self, tool: &str) -> bool {
        self.iter().any(|one| matches!(one, ApiPermission::ToolInvoke(name) if stands_for(name, tool)))
    }

    /// Whether calling `tool` is allowed by its own name, not by one that stands for others as well.
    pub(super) fn name(&self, tool: &str) -> bool {
        self.iter().any(|one| matches!(one, ApiPermission::ToolInvoke(name) if name.as_str() == tool))
    }

    /// Whether they allow seeing `tool`.
    pub fn allow_reading(&self, tool: &str) -> bool {
        self.iter().any(|one| match one {
            ApiPermission::ToolsListAll => true,
            ApiPermission::ToolRead(name) => stands_for(name, tool),
            _ => false,
        })
    }

    /// Whether they allow anything about any tool.
    pub fn allow_some_tool(&self) -> bool {
        let about_tools = |one: &ApiPermission| {
            matches!(
                one,
                ApiPermission::ToolInvoke(_) | ApiPermission::ToolRead(_) | ApiPermission::ToolsListAll
            )
        };
        self.iter().any(about_tools)
    }

    /// The permissions, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &ApiPermission> {
        self.0.iter()
    }
}

/// Whether `tool` is what `allowed` says. A tool without a name is none.
fn stands_for(allowed: &ToolName, tool: &str) -> bool {
    match allowed.as_str().strip_suffix('*') {
        Some(start) => !tool.is_empty() && tool.starts_with(start),
        None => allowed.as_str() == tool,
    }
}
