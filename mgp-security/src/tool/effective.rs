//! The effective security of a tool, computed from all sources that have a say in it, and the operator's rules among them.

use mgp_types::mgp::{
    CallEffect, EXTENSION_ID, EffectiveSecurity, Permission, RiskLevel, ToolSecurity, TrustLevel,
    ValidatorName,
};
use mgp_types::{Object, RawJson};

use super::derive::derive;
use super::nature::ArgumentNatures;

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

/// Returns the effective security of a tool: the strictest of the server's declaration, the operator's configuration,
/// and the demands of the trust level and the permissions.
///
/// A server can add checks and never remove any. The guess from the definition (§8.2) counts unless a trusted server
/// declares its security; where it says nothing of the effect of a call, the risk that a server declares does, unless the
/// server is sandboxed. A declaration that cannot be read counts as the worst.
///
/// ```
/// use mgp_security::tool::{ToolRules, effective};
/// use mgp_types::Object;
/// use mgp_types::mgp::{RiskLevel, ValidatorName};
///
/// let plain = Object::parse(r#"{"name":"run","inputSchema":{"properties":{"command":{"type":"string"}}}}"#)?;
/// let security = effective(&plain, &ToolRules::default());
/// assert_eq!(security.risk, RiskLevel::Dangerous);
/// assert_eq!(security.validators, [ValidatorName::Sandbox]);
/// assert!(security.derived);
/// # Ok::<(), mgp_types::JsonError>(())
/// ```
pub fn effective(definition: &Object, rules: &ToolRules) -> EffectiveSecurity {
    let declared = declared(definition);
    let mut security = merged(declared.as_deref().unwrap_or_default());
    if declared.is_none() {
        security.risk = RiskLevel::Dangerous;
        security.confirmation = true;
    }
    security.derived = declared.is_some_and(|declared| declared.is_empty());
    let guesses = security.derived || rules.trust < TrustLevel::Trusted;
    let mut guess = guesses.then(|| derive(definition, &ArgumentNatures::of(definition)));
    if let Some(guess) = &mut guess {
        guess.validators.retain(|validator| !rules.waived.contains(validator));
        add_new(&mut security.validators, guess.validators.drain(..));
    }
    add_wishes(&mut security, definition);
    add_rules(&mut security, rules);
    settle(&mut security, rules);
    security.effect = guess.as_ref().and_then(|guess| guess.effect);
    //= mgp §4.4
    //# No side effects, read-only operations
    // A name that tells nothing is no evidence against what a server declares.
    if security.effect == Some(CallEffect::Unknown)
        && !security.derived
        && rules.trust > TrustLevel::Sandboxed
    {
        let is_safe = security.risk == RiskLevel::Safe;
        security.effect = Some(if is_safe { CallEffect::Reads } else { CallEffect::Writes });
    }
    // A guess covers the whole risk; a declaration is as dangerous as the worst item that it names.
    if let Some(guess) = guess.filter(|_| security.derived) {
        security.risk = security.risk.max(guess.risk);
        security.risk_of_reading = security.risk_of_reading.max(guess.risk_of_reading);
        security.reversible = guess.reversible;
        if rules.trust > TrustLevel::Sandboxed {
            let is_new = |permission: &&Permission| !security.permissions.contains(permission);
            security.guessed_permissions = guess.permissions.iter().filter(is_new).cloned().collect();
        }
        add_new(&mut security.permissions, guess.permissions);
        add_new(&mut security.side_effects, guess.side_effects);
    }
    security
}

/// Returns the definition as a client that speaks MGP sees it: the server's own declaration unchanged, and beside it
/// the effective values.
pub fn describe(definition: &Object, security: &EffectiveSecurity) -> Object {
    let mut shown = definition.clone();
    let mut members = definition.object(ToolSecurity::MEMBER).unwrap_or_default();
    let mut set = |name: &'static str, value: Result<RawJson, serde_json::Error>| {
        if let Ok(value) = value {
            members.set(name, value);
        }
    };
    if security.derived {
        set("risk_level", RawJson::from_value(&security.risk));
        set("permissions_required", RawJson::from_value(&security.permissions));
        set("side_effects", RawJson::from_value(&security.side_effects));
        set("derived", RawJson::from_value(&true));
    }
    set("effective_risk_level", RawJson::from_value(&security.risk));
    set("confirmation_required", RawJson::from_value(&security.confirmation));
    shown.set(ToolSecurity::MEMBER, members.to_raw());
    shown
}

/// Returns the declarations in the member of the definition and in its metadata; `None` if one cannot be read.
fn declared(definition: &Object) -> Option<Vec<ToolSecurity>> {
    let mut found: Vec<RawJson> = definition.get(ToolSecurity::MEMBER).into_iter().collect();
    let meta = definition.get("_meta").and_then(|meta| Object::from_raw(&meta).ok()?.get(EXTENSION_ID));
    if let Some(meta) = meta {
        found.extend(Object::from_raw(&meta).ok()?.get(ToolSecurity::MEMBER));
    }
    found.iter().map(|it| it.to().ok()).collect()
}

/// Adds what the extensions say of a tool that is to be confirmed: it declares that, its costs need approval, or its effect
/// cannot be taken back.
fn add_wishes(security: &mut EffectiveSecurity, definition: &Object) {
    use mgp_types::ext::{CostCategory, Impact, ToolDeclaration};

    let declared = ToolDeclaration::of_definition(definition);
    let is_dear = declared.cost.is_some_and(|cost| cost.category == Some(CostCategory::RequiresApproval));
    security.confirmation |= is_dear || declared.requires_confirmation;
    if declared.risk_level == Some(Impact::Destructive) {
        security.risk = RiskLevel::Dangerous;
    }
}

fn merged(all: &[ToolSecurity]) -> EffectiveSecurity {
    let mut security = EffectiveSecurity::new(RiskLevel::Safe);
    for declared in all {
        security.risk = security.risk.max(declared.risk_level);
        add_new(&mut security.permissions, declared.permissions_required.iter().cloned());
        add_new(&mut security.side_effects, declared.side_effects.iter().cloned());
        add_new(&mut security.validators, declared.validator.iter().cloned());
        security.confirmation |= declared.confirmation_required == Some(true);
        add_new(&mut security.code_safety, declared.code_safety.iter().cloned());
        add_new(&mut security.target_arguments, declared.target_arguments.iter().cloned());
        security.reversible = match (security.reversible, declared.reversible) {
            (Some(a), Some(b)) => Some(a && b),
            (a, b) => a.or(b),
        };
    }
    security
}

pub(super) fn add_rules(security: &mut EffectiveSecurity, rules: &ToolRules) {
    security.risk = security.risk.max(rules.risk_at_least.unwrap_or(RiskLevel::Safe));
    security.confirmation |= rules.confirmation;
    add_new(&mut security.permissions, rules.permissions.iter().cloned());
    add_new(&mut security.validators, rules.validators.iter().cloned());
}

/// Settles the values that follow from others: the risk of the permissions and the trust level. A `none` beside another
/// validator is removed. A validator raises no risk: it is a check that a declared risk was declared with.
pub(super) fn settle(security: &mut EffectiveSecurity, rules: &ToolRules) {
    if security.validators.iter().any(|validator| *validator != ValidatorName::None) {
        security.validators.retain(|validator| *validator != ValidatorName::None);
    }
    let of_trust = match rules.trust {
        TrustLevel::Sandboxed => RiskLevel::Moderate,
        TrustLevel::Standard | TrustLevel::Trusted => RiskLevel::Safe,
    };
    let of_permissions = security.permissions.iter().map(Permission::risk);
    security.risk = of_permissions.fold(security.risk.max(of_trust), RiskLevel::max);
    security.risk_of_reading = security.risk;
}

fn add_new<T: PartialEq>(list: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for item in more {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}
