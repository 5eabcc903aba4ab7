//! The permission that each request demands of a key, by the table of methods.

use std::borrow::Cow;

use mgp_types::mgp::{ToolPattern, method};
use mgp_types::{KeyPermission, MethodRule, Request};

use super::ApiPermissions;

/// The permission that a request demands of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequiredPermission<'a> {
    /// The key must permit calling this tool.
    Invoke(Cow<'a, str>),
    /// The key must permit the method that this tool stands for, or the tool by its full name.
    StandIn { method: &'static str },
    /// The key must have the permission that the table of methods demands.
    ForMethod(KeyPermission),
}

impl<'a> RequiredPermission<'a> {
    /// Returns the permission that `request` demands; `has_stand_ins` if a tool with the name of an MGP method stands for
    /// that method, and is not only a tool.
    pub(super) fn of(request: &'a Request, has_stand_ins: bool) -> Self {
        match of_rule(MethodRule::of(request)) {
            KeyPermission::Call => {
                let tool = request.params.text("name").unwrap_or_default();
                match method::of_tool(&tool).filter(|_| has_stand_ins) {
                    Some(method) => Self::StandIn { method },
                    None => Self::Invoke(tool),
                }
            }
            demanded => Self::ForMethod(demanded),
        }
    }

    /// Checks that `permissions` meet the demand.
    ///
    /// # Errors
    /// The permission that is missing, in the word by which `mgp keys new --allow` gives it.
    pub(super) fn check(&self, permissions: &ApiPermissions) -> Result<(), &'static str> {
        use super::ApiPermission::{AdminRead, AdminWrite, ToolsListAll};
        let (is_met, missing) = match self {
            Self::Invoke(tool) => {
                let (server, tool) = ToolPattern::split(tool);
                (permissions.allow_invoking(server, tool), CALL)
            }
            Self::StandIn { method } if permissions.name(method) => return Ok(()),
            Self::StandIn { method } if *method != method::TOOLS_CALL => {
                return Self::ForMethod(of_rule(MethodRule::named(method))).check(permissions);
            }
            Self::ForMethod(KeyPermission::Any) => return Ok(()),
            // The tool that stands for a call has become the call of another tool, unless it names none.
            Self::StandIn { .. } | Self::ForMethod(KeyPermission::Call) => {
                (permissions.allow_invoking_some(), CALL)
            }
            Self::ForMethod(KeyPermission::SomeTool) => {
                (permissions.allow_some_tool(), "list, see:SERVER.TOOL or call:SERVER.TOOL")
            }
            Self::ForMethod(KeyPermission::AllTools) => (permissions.contains(&ToolsListAll), "list"),
            Self::ForMethod(KeyPermission::Read) => (permissions.contains(&AdminRead), "read"),
            Self::ForMethod(KeyPermission::Register) => (permissions.contains(&AdminWrite), "register"),
        };
        if is_met { Ok(()) } else { Err(missing) }
    }
}

/// The permission to call a tool, as it is given.
pub(super) const CALL: &str = "call:SERVER.TOOL";

/// Returns the permission that a row demands. A method without a row demands the most.
fn of_rule(rule: Option<&MethodRule>) -> KeyPermission {
    rule.map_or(KeyPermission::Register, |rule| rule.permission)
}
