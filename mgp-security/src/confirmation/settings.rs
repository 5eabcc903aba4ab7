//! The settings for which calls need confirmation.

use std::time::Duration;

use mgp_types::Request;
use mgp_types::mgp::{ResolvedTool, RiskLevel};

use crate::permission::{GrantBook, GrantedOnce};

/// The settings for which calls a human confirms (§4.4). They are independent of the permission policy: one that
/// approves all permissions does not change them.
///
/// A call whose tool asks for confirmation is confirmed. Beyond that, calls of `safe` tools are not, calls of
/// `moderate` tools are if this is [switched on](Self::with_moderate), and calls of `dangerous` tools are, unless an
/// operator's [explicit permission](Self::with_permission_instead) is to be enough. [Every
/// call](Self::with_every_call) can be made to need confirmation.
#[derive(Debug, Clone)]
pub struct ConfirmationSettings {
    every: bool,
    moderate: bool,
    dangerous: bool,
    instead: Option<GrantBook>,
    patience: Duration,
}

impl ConfirmationSettings {
    /// Returns settings under which calls are confirmed if they are dangerous, or if their tool asks for it.
    pub fn new() -> Self {
        Self { every: false, moderate: false, dangerous: true, instead: None, patience: PATIENCE }
    }

    /// Switches off the confirmation of calls that are dangerous or whose tool asks for it.
    #[must_use]
    pub fn without_dangerous(mut self) -> Self {
        self.dangerous = false;
        self
    }

    /// Makes every call need confirmation, whatever the other settings say.
    #[must_use]
    pub fn with_every_call(mut self) -> Self {
        self.every = true;
        self
    }

    /// Makes calls of moderate risk need confirmation as well.
    #[must_use]
    pub fn with_moderate(mut self) -> Self {
        self.moderate = true;
        self
    }

    /// Accepts an explicit permission in place of the confirmation of a dangerous call: an operator must have granted
    /// every permission that its tool needs, and it must need at least one. Permissions granted by a policy do not
    /// count.
    #[must_use]
    pub fn with_permission_instead(mut self, book: GrantBook) -> Self {
        self.instead = Some(book);
        self
    }

    /// Sets the time that a call waits for a human before it is refused. Default: 5 minutes.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub(super) fn wants(&self, tool: &ResolvedTool, call: &Request) -> bool {
        //= mgp §4.4
        //# Require explicit confirmation or permission
        self.every
            || (self.dangerous && tool.security.confirmation)
            || match tool.security.risk {
                RiskLevel::Safe => false,
                RiskLevel::Moderate => self.moderate,
                RiskLevel::Dangerous => self.dangerous && !self.is_permitted(tool, call),
            }
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
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

impl Default for ConfirmationSettings {
    fn default() -> Self {
        Self::new()
    }
}

/// The default time that a call waits for a human.
const PATIENCE: Duration = Duration::from_mins(5);
