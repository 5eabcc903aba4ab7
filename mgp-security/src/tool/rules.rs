//! The operator's rules for the tools of a server.

use mgp_types::RawJson;
use mgp_types::mgp::{CodeSafety, Permission, RiskLevel, TrustLevel, ValidatorName};

/// The operator's rules for the tools of a server, or for one of them.
///
/// The default trusts nobody and adds nothing: a server of which nothing is known is sandboxed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolRules {
    pub(super) trust: TrustLevel,
    pub(super) risk_at_least: Option<RiskLevel>,
    pub(super) validators: Vec<ValidatorName>,
    pub(super) permissions: Vec<Permission>,
    pub(super) confirmation: bool,
    pub(super) code_safety: Option<RawJson>,
    pub(super) waived: Vec<ValidatorName>,
}

impl ToolRules {
    /// Returns rules for a server with this trust level.
    pub fn new(trust: TrustLevel) -> Self {
        Self { trust, ..Self::default() }
    }

    /// Sets the least risk of calls.
    pub const fn with_risk_at_least(mut self, risk: RiskLevel) -> Self {
        self.risk_at_least = Some(risk);
        self
    }

    /// Adds a validator that arguments are checked with.
    pub fn with_validator(mut self, validator: ValidatorName) -> Self {
        self.validators.push(validator);
        self
    }

    /// Adds a permission that calls need.
    pub fn with_permission(mut self, permission: Permission) -> Self {
        self.permissions.push(permission);
        self
    }

    /// Demands that a human confirms each call.
    pub const fn with_confirmation(mut self) -> Self {
        self.confirmation = true;
        self
    }

    /// Adds a declaration (§7.3) that code arguments are checked against.
    pub fn with_code_safety(mut self, declaration: &CodeSafety) -> Self {
        self.code_safety = RawJson::from_value(declaration).ok();
        self
    }

    /// Waives a validator where it would only be derived from the definition; a declared one is still used.
    pub fn without_derived(mut self, validator: ValidatorName) -> Self {
        self.waived.push(validator);
        self
    }
}
