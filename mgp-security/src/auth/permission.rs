use std::sync::Arc;

use mgp_types::mgp::{ToolPattern, ToolPatternError, method};
use serde::{Deserialize, Deserializer, Serialize};

/// What a key lets its owner do. A key has exactly those it was given; none includes another.
///
/// Tools are named by [patterns](ToolPattern). Where nobody says which server a tool is of, as in front of a server that
/// stands alone, what is in front of the last dot of its name is taken for that, and a name without a dot has none: `*.echo`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ApiPermission {
    /// Call this tool, or these, by the name that clients use here.
    ToolInvoke(#[serde(deserialize_with = "read")] ToolPattern),
    /// See this tool, or these, with their schemas.
    ToolRead(#[serde(deserialize_with = "read")] ToolPattern),
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

    /// Whether they allow calling `tool` of `server`. A tool without a name is none.
    pub(crate) fn allow_invoking(&self, server: &str, tool: &str) -> bool {
        let allows =
            |one: &ApiPermission| matches!(one, ApiPermission::ToolInvoke(it) if it.matches(server, tool));
        !tool.is_empty() && self.iter().any(allows)
    }

    /// Whether calling the method of MGP that a tool stands for is allowed by the tool's own name, not by a pattern that
    /// stands for others as well.
    pub(super) fn name(&self, method: &str) -> bool {
        self.iter().any(|one| match one {
            ApiPermission::ToolInvoke(it) => {
                let joined = [it.server().as_str(), it.tool().as_str()].join("/");
                method::of_tool(&joined.replace('.', "/")) == Some(method)
                    || (it.server().as_str() == "*" && method::of_tool(it.tool().as_str()) == Some(method))
            }
            _ => false,
        })
    }

    /// Whether they allow seeing `tool` of `server`.
    pub(crate) fn allow_reading(&self, server: &str, tool: &str) -> bool {
        self.iter().any(|one| match one {
            ApiPermission::ToolsListAll => true,
            ApiPermission::ToolRead(it) => it.matches(server, tool),
            _ => false,
        })
    }

    /// Whether they allow calling anything.
    pub(super) fn allow_invoking_some(&self) -> bool {
        self.iter().any(|one| matches!(one, ApiPermission::ToolInvoke(_)))
    }

    /// Whether they allow anything about any tool.
    pub(crate) fn allow_some_tool(&self) -> bool {
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

/// Reads a pattern, or a name of tools as keys had them before: one without a dot was that of a tool, whatever its server.
fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolPattern, D::Error> {
    let text = String::deserialize(deserializer)?;
    let pattern = match text.parse() {
        Err(ToolPatternError::OnePart(tool)) => ToolPattern::new("*", &tool),
        parsed => parsed,
    };
    pattern.map_err(serde::de::Error::custom)
}
