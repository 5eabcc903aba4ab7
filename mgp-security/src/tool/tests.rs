use mgp_types::Object;
use mgp_types::mgp::{CallEffect, EffectiveSecurity, Permission, RiskLevel, TrustLevel, ValidatorName};

use super::*;

fn of(definition: &str, rules: &ToolRules) -> EffectiveSecurity {
    effective(&Object::parse(definition.to_owned()).unwrap(), rules)
}

fn trusted() -> ToolRules {
    ToolRules::new(TrustLevel::Trusted)
}

// covers: MGP-4.3-01, MGP-4.3-02
#[test]
fn the_risk_is_the_strictest_that_anybody_says() {
    let safe = r#"{"name":"x","security":{"risk_level":"safe"}}"#;
    assert_eq!(of(safe, &trusted()).risk, RiskLevel::Safe);
    assert_eq!(
        of(safe, &ToolRules::default()).risk,
        RiskLevel::Moderate,
        "a sandboxed server is not believed"
    );
    assert_eq!(
        of(safe, &ToolRules { risk_at_least: Some(RiskLevel::Dangerous), ..trusted() }).risk,
        RiskLevel::Dangerous
    );
    let checked = ToolRules { validators: vec![ValidatorName::Sandbox], ..trusted() };
    assert_eq!(of(safe, &checked).risk, RiskLevel::Safe, "a validator is a check, and no danger");
    let camera = r#"{"name":"x","security":{"risk_level":"safe","permissions_required":["camera"]}}"#;
    assert_eq!(of(camera, &trusted()).risk, RiskLevel::Dangerous);
    let configured_down = ToolRules { risk_at_least: Some(RiskLevel::Safe), ..trusted() };
    let dangerous = r#"{"name":"x","security":{"risk_level":"dangerous"}}"#;
    assert_eq!(of(dangerous, &configured_down).risk, RiskLevel::Dangerous);
}

#[test]
fn a_declared_risk_tells_the_effect_of_a_tool_whose_name_does_not() {
    let standard = ToolRules::new(TrustLevel::Standard);
    let effect = |name: &str, security: &str, rules: &ToolRules| {
        of(&format!(r#"{{"name":"{name}"{security}}}"#), rules).effect.unwrap()
    };
    let safe = r#","security":{"risk_level":"safe"}"#;
    let moderate = r#","security":{"risk_level":"moderate"}"#;
    let camera = r#","security":{"risk_level":"safe","permissions_required":["camera"]}"#;
    for (name, security, rules, expected) in [
        ("frobnicate", safe, &standard, CallEffect::Reads),
        ("frobnicate", moderate, &standard, CallEffect::Writes),
        ("frobnicate", camera, &standard, CallEffect::Writes),
        ("frobnicate", "", &standard, CallEffect::Unknown),
        ("frobnicate", safe, &ToolRules::default(), CallEffect::Unknown),
        ("delete_all", safe, &standard, CallEffect::Destroys),
    ] {
        assert_eq!(effect(name, security, rules), expected, "{name} {security} {:?}", rules.trust);
    }
}

// covers: EXT-03-05
#[test]
fn costs_that_somebody_has_to_agree_to_are_confirmed() {
    for (category, confirmed) in [("requires_approval", true), ("metered", false), ("free", false)] {
        let tool = format!(
            r#"{{"name":"x","security":{{"risk_level":"safe"}},"cost":{{"category":"{category}"}}}}"#
        );
        assert_eq!(of(&tool, &trusted()).confirmation, confirmed, "{category}");
    }
}

// covers: MGP-3.2-12
#[test]
fn a_custom_permission_is_dangerous() {
    let custom =
        r#"{"name":"x","security":{"risk_level":"safe","permissions_required":["com.example.print"]}}"#;
    assert_eq!(of(custom, &trusted()).risk, RiskLevel::Dangerous);
}

// covers: MGP-4.3-09, MGP-4.5-05, MGP-4.5-06
#[test]
fn a_server_can_add_a_validator_and_never_remove_one() {
    let none = r#"{"name":"run","security":{"risk_level":"safe","validator":"none"},
        "inputSchema":{"properties":{"command":{"type":"string"}}}}"#;
    let configured = ToolRules { validators: vec![ValidatorName::Readonly], ..trusted() };
    assert_eq!(of(none, &configured).validators, [ValidatorName::Readonly]);
    assert_eq!(of(none, &trusted()).validators, [ValidatorName::None], "a trusted server looks after itself");
    assert_eq!(of(none, &ToolRules::default()).validators, [ValidatorName::Sandbox], "another one does not");
    let added = r#"{"name":"x","security":{"risk_level":"safe","validator":"network_restricted"}}"#;
    assert_eq!(
        of(added, &configured).validators,
        [ValidatorName::NetworkRestricted, ValidatorName::Readonly]
    );
}

#[test]
fn both_places_are_read_and_the_stricter_counts() {
    let both = r#"{"name":"x","security":{"risk_level":"safe"},
        "_meta":{"dev.cloto/mgp":{"security":{"risk_level":"dangerous","confirmation_required":true}}}}"#;
    let security = of(both, &trusted());
    assert_eq!((security.risk, security.confirmation, security.derived), (RiskLevel::Dangerous, true, false));
}

#[test]
fn a_declaration_that_cannot_be_read_counts_as_the_worst() {
    for security in
        [r#""safe""#, "7", "null", r#"{"risk_level":3}"#, r#"{"risk_level":"safe","validator":{}}"#]
    {
        let security = of(&format!(r#"{{"name":"get","security":{security}}}"#), &trusted());
        assert_eq!((security.risk, security.confirmation), (RiskLevel::Dangerous, true));
    }
}

#[test]
fn what_is_derived_is_marked_and_can_be_waived() {
    let plain = r#"{"name":"browse","inputSchema":{"properties":{"url":{"type":"string"}}}}"#;
    let security = of(plain, &ToolRules::default());
    assert!(security.derived);
    assert_eq!(security.validators, [ValidatorName::NetworkRestricted]);
    let waived = ToolRules { waived: vec![ValidatorName::NetworkRestricted], ..ToolRules::default() };
    assert!(of(plain, &waived).validators.is_empty());
    let both = ToolRules { validators: vec![ValidatorName::NetworkRestricted], ..waived };
    assert_eq!(
        of(plain, &both).validators,
        [ValidatorName::NetworkRestricted],
        "only what is derived is waived"
    );
}

#[test]
fn a_description_keeps_the_servers_words_and_adds_what_they_come_to() {
    let definition =
        Object::parse(r#"{"name":"x","security":{"risk_level":"safe","validator":"sandbox","their":1}}"#)
            .unwrap();
    let shown = describe(&definition, &effective(&definition, &ToolRules::default()));
    let security = Object::from_raw(&shown.get("security").unwrap()).unwrap();
    assert_eq!(security.text("risk_level").as_deref(), Some("safe"));
    assert_eq!(security.text("effective_risk_level").as_deref(), Some("moderate"));
    assert!(security.contains("their") && !security.contains("derived"));
    let plain = Object::parse(r#"{"name":"get_weather"}"#).unwrap();
    let shown = describe(&plain, &effective(&plain, &ToolRules::default()));
    let security = Object::from_raw(&shown.get("security").unwrap()).unwrap();
    assert_eq!(security.text("risk_level").as_deref(), Some("moderate"));
    assert_eq!(security.bytes("derived"), Some(&b"true"[..]));
}

#[test]
fn a_permission_is_guessed_unless_its_operator_demands_it_or_distrusts_the_server() {
    let plain = r#"{"name":"write_file","inputSchema":{"properties":{"path":{"type":"string"}}}}"#;
    let guessed = |rules: &ToolRules| of(plain, rules).guessed_permissions;
    let standard = ToolRules::new(TrustLevel::Standard);
    assert_eq!(guessed(&standard), [Permission::FilesystemWrite]);
    let demanded = ToolRules { permissions: vec![Permission::FilesystemWrite], ..standard };
    assert_eq!(guessed(&demanded), []);
    assert_eq!(guessed(&ToolRules::new(TrustLevel::Sandboxed)), []);
}
