//! The security declarations of tools, and the clients that get them.

use crate::peer::{Era, Peer, speaking};
use mgp_server_sdk::types::mgp::{
    CodeRejection, CodeSafety, ExtensionSet, Offer, Permission, RiskLevel, SafetyLevel, SideEffect,
    ToolSecurity, ValidatorName,
};
use mgp_server_sdk::{Server, Tool, ToolError};
use serde_json::{Value, json};

fn server() -> Server {
    let security = ToolSecurity::new(RiskLevel::Dangerous)
        .with_permissions([Permission::ShellExecute])
        .with_side_effects([SideEffect::Filesystem, SideEffect::Process])
        .with_validator(ValidatorName::Sandbox)
        .with_reversible(false)
        .with_confirmation_required(true);
    Server::new("test", "1")
        .mgp(Offer::new(ExtensionSet::standard()))
        .tool(Tool::new("execute_command", "Executes a command.").security(&security), async || "done")
        .tool(Tool::new("add", "Adds."), async || "3")
}

async fn listed(era: Era, capabilities: Value) -> Value {
    let mut peer = Peer::silent(server(), era, capabilities).await;
    peer.call("tools/list", json!({})).await.unwrap()
}

// covers: MGP-4.1-01, MGP-4.2-01, MGP-4.3-02, MGP-4.3-03, MGP-4.3-10, MGP-4.3-11
#[tokio::test]
async fn a_client_that_negotiated_it_is_told_the_security_of_tools() {
    let security = json!({
        "risk_level": "dangerous",
        "permissions_required": ["shell.execute"],
        "side_effects": ["filesystem", "process"],
        "validator": "sandbox",
        "reversible": false,
        "confirmation_required": true,
    });
    for era in Era::BOTH {
        for extension in ["security", "tool_security"] {
            let result = listed(era, speaking(era, &[extension], &[])).await;
            assert_eq!(result["tools"][0]["security"], security, "{era:?} {extension}");
            assert_eq!(result["tools"][1].get("security"), None);
            let mirror = result["tools"][0].pointer("/_meta/dev.cloto~1mgp/security");
            assert_eq!(mirror, (era == Era::Stateless).then_some(&security));
        }
    }
}

// covers: MGP-4.3-01, MGP-4.3-04..09
#[tokio::test]
async fn each_word_of_a_declaration_has_its_name() {
    use {RiskLevel as Risk, SideEffect as Effect, ValidatorName as Validator};
    let declared = [
        (Risk::Safe, vec![Effect::Database, Effect::Notification], Validator::None),
        (Risk::Moderate, vec![Effect::Filesystem, Effect::Network], Validator::Readonly),
        (Risk::Dangerous, vec![Effect::Process], Validator::Sandbox),
    ];
    let words = [
        json!({"risk_level": "safe", "side_effects": ["database", "notification"], "validator": "none"}),
        json!({"risk_level": "moderate", "side_effects": ["filesystem", "network"], "validator": "readonly"}),
        json!({"risk_level": "dangerous", "side_effects": ["process"], "validator": "sandbox"}),
    ];
    for era in Era::BOTH {
        for ((risk, effects, validator), words) in declared.iter().zip(&words) {
            let security =
                ToolSecurity::new(*risk).with_side_effects(effects.clone()).with_validator(validator.clone());
            let server = Server::new("test", "1")
                .mgp(Offer::new(ExtensionSet::standard()))
                .tool(Tool::new("act", "Acts.").security(&security), async || "done");
            let capabilities = speaking(era, &["security"], &[]);
            let mut peer = Peer::silent(server, era, capabilities).await;
            let result = peer.call("tools/list", json!({})).await.unwrap();
            assert_eq!(&result["tools"][0]["security"], words, "{era:?}");
        }
    }
}

// covers: MGP-1.3-02
#[tokio::test]
async fn a_client_that_did_not_sees_plain_tools() {
    for era in Era::BOTH {
        for capabilities in [json!({}), speaking(era, &["audit"], &[])] {
            let result = listed(era, capabilities).await;
            assert_eq!(result["tools"][0]["name"], "execute_command");
            assert!(!result["tools"].to_string().contains("risk_level"), "{era:?}: {result}");
        }
    }
}

// covers: MGP-7.3-01..08
#[tokio::test]
async fn a_tool_that_takes_code_declares_what_it_is_held_to() {
    let mut safety = CodeSafety::new(SafetyLevel::Standard).with_language("python");
    safety.max_code_size_bytes = Some(10_000);
    safety.blocked_imports = vec!["subprocess".into()];
    safety.blocked_patterns = vec!["eval(".into()];
    safety.allowed_imports = Some(vec!["json".into()]);
    let security = ToolSecurity::new(RiskLevel::Dangerous)
        .with_permissions([Permission::CodeExecution])
        .with_validator(ValidatorName::CodeSafety)
        .with_code_safety(&safety);
    let server = || {
        Server::new("test", "1")
            .mgp(Offer::new(ExtensionSet::standard()))
            .tool(Tool::new("create_mcp_server", "Creates a server.").security(&security), async || "done")
    };
    for era in Era::BOTH {
        let capabilities = speaking(era, &["security", "code_safety"], &[]);
        let mut peer = Peer::silent(server(), era, capabilities).await;
        let result = peer.call("tools/list", json!({})).await.unwrap();
        let security = &result["tools"][0]["security"];
        assert_eq!(security["validator"], "code_safety");
        let declared = json!({"level": "standard", "language": "python", "max_code_size_bytes": 10000,
            "blocked_imports": ["subprocess"], "blocked_patterns": ["eval("], "allowed_imports": ["json"]});
        assert_eq!(security["code_safety"], declared);
    }
}

// covers: MGP-7.4-01..06
#[tokio::test]
async fn a_tool_that_rejects_code_says_why_in_the_form_of_the_specification() {
    let server = || {
        Server::new("test", "1").tool(Tool::new("run", "Runs code."), async || {
            let violations = vec!["Blocked import: 'subprocess'".into(), "Blocked pattern: 'eval('".into()];
            Err::<&str, _>(ToolError::from(CodeRejection::new(violations)))
        })
    };
    for era in Era::BOTH {
        let mut peer = Peer::open(server(), era).await;
        let result = peer.tool("run", json!({})).await.unwrap();
        assert_eq!(result["isError"], true);
        let rejection: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(rejection["status"], "rejected");
        assert_eq!(rejection["reason"], "Code validation failed");
        assert_eq!(rejection["violations"][0], "Blocked import: 'subprocess'");
        assert_eq!(rejection["violations"][1], "Blocked pattern: 'eval('");
        assert!(rejection["hints"].is_object());
    }
}
