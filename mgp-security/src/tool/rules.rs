use std::collections::BTreeMap;

use mgp_types::RawJson;
use mgp_types::mgp::{CodeSafety, Permission, RiskLevel, TrustLevel, ValidatorName};

/// What the operator says about a server's tools, or about one of them.
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
    pub(super) permission_risks: BTreeMap<Permission, RiskLevel>,
    pub(super) waived: Vec<ValidatorName>,
}

impl ToolRules {
    /// Rules for a server that is trusted so far.
    pub fn new(trust: TrustLevel) -> Self {
        Self { trust, ..Self::default() }
    }

    /// Calls are at least this dangerous.
    pub const fn with_risk_at_least(mut self, risk: RiskLevel) -> Self {
        self.risk_at_least = Some(risk);
        self
    }

    /// Arguments are checked with this too.
    pub fn with_validator(mut self, validator: ValidatorName) -> Self {
        self.validators.push(validator);
        self
    }

    /// Calls need this too.
    pub fn with_permission(mut self, permission: Permission) -> Self {
        self.permissions.push(permission);
        self
    }

    /// A human is asked before each call.
    pub const fn with_confirmation(mut self) -> Self {
        self.confirmation = true;
        self
    }

    /// Code arguments are held to this declaration (§7.3) too.
    pub fn with_code_safety(mut self, declaration: &CodeSafety) -> Self {
        self.code_safety = RawJson::from_value(declaration).ok();
        self
    }

    /// Says how dangerous a custom permission is; without it, it is dangerous.
    pub fn with_permission_risk(mut self, permission: Permission, risk: RiskLevel) -> Self {
        self.permission_risks.insert(permission, risk);
        self
    }

    /// Arguments are not checked with this where nobody declared it and it would only be derived from the definition.
    pub fn without_derived(mut self, validator: ValidatorName) -> Self {
        self.waived.push(validator);
        self
    }

    /// How dangerous a permission is under these rules; those of the specification keep their risk.
    pub(super) fn risk_of(&self, permission: &Permission) -> RiskLevel {
        match permission {
            Permission::Custom(_) => {
                self.permission_risks.get(permission).copied().unwrap_or_else(|| permission.risk())
            }
            standard => standard.risk(),
        }
    }
}
