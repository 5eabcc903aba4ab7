use std::time::Duration;

use mgp_types::Request;
use mgp_types::mgp::{ResolvedTool, RiskLevel};

use crate::permission::{GrantBook, GrantedOnce};

/// Which calls a human confirms (§4.4). It is a switch of its own: a policy that approves all permissions leaves it as
/// it is.
///
/// A call whose tool says that it wants to be confirmed is. Beyond that: one of a `safe` tool is not, of a `moderate` one if
/// [asked for](Self::with_moderate), of a `dangerous` one, unless an operator's
/// [explicit permission](Self::with_permission_instead) is to be enough. [Every call](Self::with_every_call) is, if an
/// operator says so.
#[derive(Debug, Clone)]
pub struct ConfirmationSettings {
    every: bool,
    moderate: bool,
    dangerous: bool,
    instead: Option<GrantBook>,
    patience: Duration,
}

impl ConfirmationSettings {
    /// Dangerous calls are confirmed, and those whose tools say so.
    pub fn new() -> Self {
        Self { every: false, moderate: false, dangerous: true, instead: None, patience: PATIENCE }
    }

    /// Calls are confirmed neither because their tool is dangerous nor because it says that it wants it.
    #[must_use]
    pub fn without_dangerous(mut self) -> Self {
        self.dangerous = false;
        self
    }

    /// Every call is confirmed, whatever else is said here.
    #[must_use]
    pub fn with_every_call(mut self) -> Self {
        self.every = true;
        self
    }

    /// Calls of moderate risk are confirmed, too.
    #[must_use]
    pub fn with_moderate(mut self) -> Self {
        self.moderate = true;
        self
    }

    /// A dangerous call need not be confirmed if an operator granted every permission that its tool needs, and it
    /// needs one. What a policy granted does not count.
    #[must_use]
    pub fn with_permission_instead(mut self, book: GrantBook) -> Self {
        self.instead = Some(book);
        self
    }

    /// How long a call waits for a human; then it is refused. Default: 5 minutes.
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

const PATIENCE: Duration = Duration::from_mins(5);
