//! The permissions of API keys, and which of them each request demands.

use std::sync::Arc;

use mgp_types::mgp::{ToolPattern, ToolPatternError, method};
use mgp_types::{KeyPermission, MethodRule, Request};
use serde::{Deserialize, Deserializer, Serialize};

use self::ApiPermission::{AdminRead, AdminWrite, ToolInvoke, ToolRead, ToolsListAll};

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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
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
        let allows = |one: &ApiPermission| matches!(one, ToolInvoke(it) if it.matches(server, tool));
        !tool.is_empty() && self.iter().any(allows)
    }

    /// Returns whether the permissions allow calling the MGP method that a tool stands for by the tool's full name,
    /// not by a pattern that matches other tools as well.
    pub(super) fn name(&self, method: &str) -> bool {
        self.iter().any(|one| {
            let ToolInvoke(it) = one else { return false };
            let joined = [it.server().as_str(), it.tool().as_str()].join("/");
            method::of_tool(&joined.replace('.', "/")) == Some(method)
                || (it.server().as_str() == "*" && method::of_tool(it.tool().as_str()) == Some(method))
        })
    }

    /// Returns whether the permissions allow seeing `tool` of `server`.
    pub(crate) fn allow_reading(&self, server: &str, tool: &str) -> bool {
        let allows = |one: &ApiPermission| matches!(one, ToolRead(it) if it.matches(server, tool));
        self.contains(&ToolsListAll) || self.iter().any(allows)
    }

    /// Returns whether the permissions allow calling any tool at all.
    pub(super) fn allow_invoking_some(&self) -> bool {
        self.iter().any(|one| matches!(one, ToolInvoke(_)))
    }

    /// Returns whether the permissions allow anything about any tool.
    pub(crate) fn allow_some_tool(&self) -> bool {
        self.iter().any(|one| matches!(one, ToolInvoke(_) | ToolRead(_) | ToolsListAll))
    }

    /// Returns the permissions in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &ApiPermission> {
        self.0.iter()
    }
}

/// Reads a pattern, or a tool name in the form of older keys, where a name without a dot meant a tool of any server.
fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolPattern, D::Error> {
    let pattern = match String::deserialize(deserializer)?.parse() {
        Err(ToolPatternError::OnePart(tool)) => ToolPattern::new("*", &tool),
        parsed => parsed,
    };
    pattern.map_err(serde::de::Error::custom)
}

/// Checks that `permissions` meet what `request` demands; `has_stand_ins` if a tool with the name of an MGP method stands
/// for that method, and is not only a tool. Returns whether the request calls a tool to which the key is still to be
/// held, as `is_held_further_in` leaves to others.
///
/// # Errors
/// The permission that is missing, in the word by which `mgp keys new --allow` gives it.
pub(super) fn check_demand(
    request: &Request,
    permissions: &ApiPermissions,
    has_stand_ins: bool,
    is_held_further_in: bool,
) -> Result<bool, &'static str> {
    let mut rule = MethodRule::of(request);
    let mut is_call_held = false;
    if rule.is_some_and(|rule| rule.permission == KeyPermission::Call) {
        let tool = request.params.text("name").unwrap_or_default();
        match method::of_tool(&tool).filter(|_| has_stand_ins) {
            Some(method) if permissions.name(method) => return Ok(false),
            // The tool that stands for a call has become the call of another tool, unless it names none.
            Some(method::TOOLS_CALL) => {}
            Some(method) => rule = MethodRule::named(method),
            None if is_held_further_in => is_call_held = true,
            None => {
                let (server, tool) = ToolPattern::split(&tool);
                return permissions.allow_invoking(server, tool).then_some(false).ok_or(CALL);
            }
        }
    }
    // A method without a row demands the most.
    let demanded = rule.map_or(KeyPermission::Register, |rule| rule.permission);
    let (is_met, missing) = match demanded {
        KeyPermission::Any => return Ok(false),
        KeyPermission::Call => (permissions.allow_invoking_some(), CALL),
        KeyPermission::SomeTool => {
            (permissions.allow_some_tool(), "list, see:SERVER.TOOL or call:SERVER.TOOL")
        }
        KeyPermission::AllTools => (permissions.contains(&ToolsListAll), "list"),
        KeyPermission::Read => (permissions.contains(&AdminRead), "read"),
        KeyPermission::Register => (permissions.contains(&AdminWrite), "register"),
    };
    if is_met { Ok(is_call_held) } else { Err(missing) }
}

/// The permission to call a tool, as it is given.
pub(super) const CALL: &str = "call:SERVER.TOOL";
