//! The operator's rules for the tools of a server.

use mgp_types::mgp::{Permission, RiskLevel, TrustLevel, ValidatorName};

/// The operator's rules for the tools of a server, or for one of them.
///
/// The default trusts nobody and adds nothing: a server of which nothing is known is sandboxed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolRules {
    /// The trust in the server.
    pub trust: TrustLevel,
    /// The least risk of calls.
    pub risk_at_least: Option<RiskLevel>,
    /// The validators that arguments are checked with, too.
    pub validators: Vec<ValidatorName>,
    /// The permissions that calls need, too.
    pub permissions: Vec<Permission>,
    /// True if a human confirms each call.
    pub confirmation: bool,
    /// The validators that are not used where they would only be derived from the definition; declared ones still are.
    pub waived: Vec<ValidatorName>,
}

impl ToolRules {
    /// Returns rules for a server with this trust level.
    pub fn new(trust: TrustLevel) -> Self {
        Self { trust, ..Self::default() }
    }
}
