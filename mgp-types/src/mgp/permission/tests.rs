//! Tests of permissions, policies and grants.

use super::*;

#[test]
fn the_standard_types_have_their_names_and_risks() {
    use RiskLevel::{Dangerous, Moderate, Safe};
    let expected = [
        ("filesystem.read", Moderate),
        ("filesystem.write", Dangerous),
        ("network.outbound", Moderate),
        ("network.listen", Dangerous),
        ("shell.execute", Dangerous),
        ("code_execution", Dangerous),
        ("memory.read", Safe),
        ("memory.write", Moderate),
        ("system.info", Safe),
        ("camera", Dangerous),
        ("notification", Safe),
    ];
    let ours: Vec<_> = Permission::KNOWN.iter().map(|p| (p.as_str(), p.risk())).collect();
    assert_eq!(ours, expected);
    for (name, _) in expected {
        let read: Permission = serde_json::from_str(&format!("\"{name}\"")).unwrap();
        assert!(!matches!(read, Permission::Custom(_)), "{name}");
        assert_eq!(serde_json::to_string(&read).unwrap(), format!("\"{name}\""));
    }
}

// covers: MGP-3.2-12
#[test]
fn a_custom_type_keeps_its_name_and_is_dangerous() {
    let custom = Permission::read("com.example.custom_permission");
    assert_eq!(custom.as_str(), "com.example.custom_permission");
    assert_eq!(custom.risk(), RiskLevel::Dangerous);
    assert_eq!(Permission::read("Shell.Execute"), Permission::Custom("Shell.Execute".into()));
}

#[test]
fn the_short_names_of_the_examples_are_read() {
    assert_eq!(Permission::read("shell"), Permission::ShellExecute);
    assert_eq!(Permission::read("network"), Permission::NetworkOutbound);
}

// covers: MGP-3.6-02..08
#[test]
fn a_response_decides_about_what_it_names_until_it_expires() {
    let json = concat!(
        r#"{"request_id":"perm-001","grants":{"camera":"deferred","filesystem.read":"denied","#,
        r#""shell.execute":"approved"},"expires_at":"2026-03-01T00:00:00.000Z"}"#
    );
    let response: PermissionResponse = serde_json::from_str(json).unwrap();
    let before = "2026-02-28T23:59:59Z".parse().unwrap();
    let of = |permission| response.decision(&permission, before).map(|grant| grant.decision);
    assert_eq!(of(Permission::ShellExecute), Some(Decision::Approved));
    assert_eq!(of(Permission::FilesystemRead), Some(Decision::Denied));
    assert_eq!(of(Permission::Camera), Some(Decision::Deferred));
    assert_eq!(of(Permission::SystemInfo), None);
    assert_eq!(response.decision(&Permission::ShellExecute, response.expires_at.unwrap()), None);
}

#[test]
fn of_two_decisions_about_one_permission_the_stricter_counts() {
    let json = r#"{"request_id":"r","grants":{"shell":"denied","shell.execute":"approved"}}"#;
    let response: PermissionResponse = serde_json::from_str(json).unwrap();
    let grant = response.decision(&Permission::ShellExecute, Timestamp::EPOCH).unwrap();
    assert_eq!(grant.decision, Decision::Denied);
}

#[test]
fn a_policy_it_does_not_know_denies() {
    for policy in ["interactive", "auto_approve", "deny_all", "config_only"] {
        assert_eq!(ApprovalPolicy::read(policy).as_str(), policy);
    }
    assert_eq!(ApprovalPolicy::read("yolo"), ApprovalPolicy::DenyAll);
}
