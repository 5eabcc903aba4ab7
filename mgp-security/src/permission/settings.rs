//! The settings that decide about the permissions of a server.

use std::collections::HashMap;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mgp::{ApprovalPolicy, Permission, Timestamp};

use super::{GrantLifetime, GrantTerms, ScopeCheck, ScopeError};

/// The settings for a server's permissions: the policy (§3.3), and the configured grants.
///
/// Configured grants count under every policy, and so do denials of operators. Beyond that:
///
/// | policy | |
/// |---|---|
/// | `interactive` | an operator is asked |
/// | `auto_approve` | approved; types that the specification does not name, and the [exceptions](Self::exceptions), are asked for as under `interactive` |
/// | `deny_all` | denied unless an operator granted it beforehand |
/// | `config_only` | denied, even if an operator granted it |
#[derive(Debug, Clone)]
#[must_use]
pub struct PermissionSettings {
    /// The policy.
    pub policy: ApprovalPolicy,
    /// The configured grants, each with the check of its scope.
    pub(super) configured: HashMap<Permission, (GrantTerms, Option<Box<ScopeCheck>>), RandomState>,
    /// The permissions for which an operator is asked even under `auto_approve`.
    pub exceptions: Vec<Permission>,
    /// True if each call that destroys, sends, spends or gives access is confirmed, so that nobody is asked besides for the
    /// permissions for files that were derived for it. Default: false.
    pub confirms_calls: bool,
    /// The time that a connection or a call waits for an operator. With zero it does not wait, and the question stays
    /// open. Default: 5 minutes.
    pub patience: Duration,
}

/// The decision about a permission, of the settings or of operators.
#[derive(Debug, Clone, Copy)]
pub(super) enum PermissionJudgement<'a> {
    /// The permission is granted on these terms, with the check of their scope.
    Approved { terms: &'a GrantTerms, scope: Option<&'a ScopeCheck>, by: &'a str },
    /// The permission is denied, until the given time if the denial has an end.
    Denied { until: Option<Timestamp> },
    /// A grant has ended, and nobody is asked for another one.
    Expired,
    /// The settings decide, but their decision is not in the audit trail yet.
    Unsettled,
    /// An operator has to be asked; `expired` tells whether an earlier grant has ended.
    Undecided { expired: bool },
}

impl PermissionSettings {
    /// Returns settings that decide by `policy`, with nothing configured.
    pub fn new(policy: ApprovalPolicy) -> Self {
        Self {
            policy,
            configured: HashMap::default(),
            exceptions: Vec::new(),
            confirms_calls: false,
            patience: PATIENCE,
        }
    }

    /// Grants `permission` on these terms.
    ///
    /// # Errors
    /// Fails if the scope cannot be checked.
    pub fn with_grant(mut self, permission: Permission, terms: GrantTerms) -> Result<Self, ScopeError> {
        let scope = terms.scope.as_deref().map(ScopeCheck::new).transpose()?.map(Box::new);
        self.configured.insert(permission, (terms, scope));
        Ok(self)
    }

    /// Returns the decision of the settings alone.
    pub(super) fn judge(&self, permission: &Permission, now: Timestamp) -> PermissionJudgement<'_> {
        let configured = self.configured.get(permission);
        if let Some((terms, scope)) = configured.filter(|(terms, _)| terms.hold_at(Timestamp::EPOCH, now)) {
            return PermissionJudgement::Approved { terms, scope: scope.as_deref(), by: "configuration" };
        }
        match self.policy {
            ApprovalPolicy::AutoApprove if !self.is_excepted(permission) => {
                PermissionJudgement::Approved { terms: &UNBOUNDED, scope: None, by: self.policy.as_str() }
            }
            ApprovalPolicy::AutoApprove | ApprovalPolicy::Interactive => {
                PermissionJudgement::Undecided { expired: false }
            }
            ApprovalPolicy::DenyAll | ApprovalPolicy::ConfigOnly => {
                PermissionJudgement::Denied { until: None }
            }
        }
    }

    fn is_excepted(&self, permission: &Permission) -> bool {
        matches!(permission, Permission::Custom(_)) || self.exceptions.contains(permission)
    }
}

/// The terms of a grant by the policy `auto_approve`, which has no bounds.
static UNBOUNDED: GrantTerms = GrantTerms { scope: None, expires_at: None, lasts: GrantLifetime::Always };

/// The default time that a connection or a call waits for an operator.
const PATIENCE: Duration = Duration::from_mins(5);
