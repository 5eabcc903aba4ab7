//! The permissions of API keys.

use std::sync::Arc;

use mgp_types::mgp::{ToolPattern, ToolPatternError, method};
use serde::{Deserialize, Deserializer, Serialize};

/// A permission that a key gives its owner. A key has exactly those that it was given; none includes another.
///
/// Tools are named by [patterns](ToolPattern). Where the server of a tool is unknown, as in front of a single server,
/// the part of its name before the last dot is taken for the server, and a name without a dot has none: `*.echo`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ApiPermission {
    /// Calling the tools that match, by the names that clients use here.
    ToolInvoke(#[serde(deserialize_with = "read")] ToolPattern),
    /// Seeing the tools that match, with their schemas.
    ToolRead(#[serde(deserialize_with = "read")] ToolPattern),
    /// Seeing all tools.
    ToolsListAll,
    /// Changing the registered servers, tools and access.
    AdminWrite,
    /// Reading the registered servers, tools and access.
    AdminRead,
}

/// The permissions of a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApiPermissions(Arc<[ApiPermission]>);

impl ApiPermissions {
    /// Returns a set of exactly these permissions.
    pub fn new(permissions: impl IntoIterator<Item = ApiPermission>) -> Self {
        Self(permissions.into_iter().collect())
    }

    /// Returns whether `permission` is among them.
    pub fn contains(&self, permission: &ApiPermission) -> bool {
        self.0.contains(permission)
    }

    /// Returns whether the permissions allow calling `tool` of `server`. A tool with an empty name is never allowed.
    pub(crate) fn allow_invoking(&self, server: &str, tool: &str) -> bool {
        let allows =
            |one: &ApiPermission| matches!(one, ApiPermission::ToolInvoke(it) if it.matches(server, tool));
        !tool.is_empty() && self.iter().any(allows)
    }

    /// Returns whether the permissions allow calling the MGP method that a tool stands for by the tool's full name,
    /// not by a pattern that matches other tools as well.
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

    /// Returns whether the permissions allow seeing `tool` of `server`.
    pub(crate) fn allow_reading(&self, server: &str, tool: &str) -> bool {
        self.iter().any(|one| match one {
            ApiPermission::ToolsListAll => true,
            ApiPermission::ToolRead(it) => it.matches(server, tool),
            _ => false,
        })
    }

    /// Returns whether the permissions allow calling any tool at all.
    pub(super) fn allow_invoking_some(&self) -> bool {
        self.iter().any(|one| matches!(one, ApiPermission::ToolInvoke(_)))
    }

    /// Returns whether the permissions allow anything about any tool.
    pub(crate) fn allow_some_tool(&self) -> bool {
        let about_tools = |one: &ApiPermission| {
            matches!(
                one,
                ApiPermission::ToolInvoke(_) | ApiPermission::ToolRead(_) | ApiPermission::ToolsListAll
            )
        };
        self.iter().any(about_tools)
    }

    /// Returns the permissions in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &ApiPermission> {
        self.0.iter()
    }
}

/// Reads a pattern, or a tool name in the form of older keys, where a name without a dot meant a tool of any server.
fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolPattern, D::Error> {
    let text = String::deserialize(deserializer)?;
    let pattern = match text.parse() {
        Err(ToolPatternError::OnePart(tool)) => ToolPattern::new("*", &tool),
        parsed => parsed,
    };
    pattern.map_err(serde::de::Error::custom)
}
