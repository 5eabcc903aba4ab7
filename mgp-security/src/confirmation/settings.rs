//! The settings for which calls need confirmation.

use std::time::Duration;

use mgp_types::Request;
use mgp_types::mgp::{Asking, CallEffect, ResolvedTool, RiskLevel};

use crate::permission::{GrantBook, GrantedOnce};

/// The settings for which calls a human confirms (§4.4). They are independent of the permission policy: one that
/// approves all permissions does not change them.
///
/// A call whose tool asks for confirmation is confirmed, and so is one that destroys, sends, spends or gives access, as its
/// [effect](CallEffect) says, and one whose effect is unknown, once a day for its tool. Beyond that, calls of `safe` tools
/// are not, calls of `moderate` tools are if this is switched on, and calls of `dangerous` tools are, unless an operator's
/// explicit permission is to be enough. A query that is known to read has the risk of a tool that reads. An operator's rule
/// about the call, in `context.asking`, takes precedence over all of it.
#[derive(Debug, Clone)]
pub struct ConfirmationSettings {
    /// True if every call is confirmed, whatever the other settings say.
    pub every: bool,
    /// True if calls of moderate risk are confirmed.
    pub moderate: bool,
    /// True if calls are confirmed that are dangerous or whose tool asks for it. Default: true.
    pub dangerous: bool,
    /// The book whose explicit permission is accepted in place of the confirmation of a dangerous call: an operator
    /// must have granted every permission that its tool needs, and it must need at least one. Permissions granted by a
    /// policy do not count.
    pub instead: Option<GrantBook>,
    /// The time that a call waits for a human before it is refused. Default: 5 minutes.
    pub patience: Duration,
}

impl ConfirmationSettings {
    /// Returns how a person is asked about the call: each time, or once for the calls of a day, of this tool with this
    /// effect. `None` if nobody is asked.
    pub(super) fn asking(&self, tool: &ResolvedTool, call: &Request) -> Option<Asking> {
        // No rule and no permission is about what a session took in.
        let has_flow = self.dangerous && has_new_flow(call);
        match call.context.asking {
            Some(Asking::Never) => return has_flow.then_some(Asking::Always),
            Some(asking) => return Some(asking),
            None => {}
        }
        // A permission of the server says nothing about one call that destroys, sends, spends or gives access.
        let is_grave = call.context.effect.is_some_and(CallEffect::is_grave);
        //= mgp §4.4
        //# Require explicit confirmation or permission
        let each_time = has_flow
            || self.every
            || (self.dangerous && (is_grave || tool.security.confirmation))
            || match risk(tool, call) {
                RiskLevel::Safe => false,
                RiskLevel::Moderate => self.moderate,
                RiskLevel::Dangerous => self.dangerous && !self.is_permitted(tool, call),
            };
        let is_unknown = self.dangerous && call.context.effect == Some(CallEffect::Unknown);
        if each_time { Some(Asking::Always) } else { is_unknown.then_some(Asking::Once) }
    }

    fn is_permitted(&self, tool: &ResolvedTool, call: &Request) -> bool {
        let Some(book) = &self.instead else { return false };
        let permissions = &tool.security.permissions;
        !permissions.is_empty()
            && permissions.iter().all(|permission| {
                GrantedOnce::holds(call, permission)
                    || book.is_granted_for(&tool.server, permission, &call.context)
            })
    }
}

/// Returns whether the call may be the first to carry out what its session took in.
pub(super) fn has_new_flow(call: &Request) -> bool {
    call.context.flow.as_ref().is_some_and(|flow| flow.is_new)
}

/// Returns the risk of a call, by its tool and its effect.
pub(super) fn risk(tool: &ResolvedTool, call: &Request) -> RiskLevel {
    match call.context.effect {
        Some(CallEffect::Reads) => tool.security.risk_of_reading,
        effect => effect.map_or(RiskLevel::Safe, CallEffect::risk).max(tool.security.risk),
    }
}

impl Default for ConfirmationSettings {
    fn default() -> Self {
        let patience = Duration::from_mins(5);
        Self { every: false, moderate: false, dangerous: true, instead: None, patience }
    }
}
