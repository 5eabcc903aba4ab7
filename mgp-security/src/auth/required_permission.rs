//! The permission that each request demands of a key, by the table of methods.

use mgp_types::mgp::{ToolPattern, method};
use mgp_types::{KeyPermission, MethodRule, Request};

use super::ApiPermission::{AdminRead, AdminWrite, ToolsListAll};
use super::ApiPermissions;

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
    let mut demanded = of_rule(MethodRule::of(request));
    let mut is_call_held = false;
    if demanded == KeyPermission::Call {
        let tool = request.params.text("name").unwrap_or_default();
        match method::of_tool(&tool).filter(|_| has_stand_ins) {
            Some(method) if permissions.name(method) => return Ok(false),
            // The tool that stands for a call has become the call of another tool, unless it names none.
            Some(method::TOOLS_CALL) => {}
            Some(method) => demanded = of_rule(MethodRule::named(method)),
            None if is_held_further_in => is_call_held = true,
            None => {
                let (server, tool) = ToolPattern::split(&tool);
                return permissions.allow_invoking(server, tool).then_some(false).ok_or(CALL);
            }
        }
    }
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

/// Returns the permission that a row demands. A method without a row demands the most.
fn of_rule(rule: Option<&MethodRule>) -> KeyPermission {
    rule.map_or(KeyPermission::Register, |rule| rule.permission)
}
