//! Servers that clients look for (§15).

use serde_json::{Value, json};

use super::raw::{ERAS, Raw};
use crate::host::{Host, quiet, speaking_mgp, typed, until};
use crate::runner::tests;
use crate::scripted::Script;
use crate::talking;

tests![
    a_list_of_servers_says_of_each_what_the_specification_has,
    a_list_has_the_servers_for_which_all_holds_that_is_asked,
    what_the_configuration_declares_is_known_before_a_connection,
];

fn speaking(extensions: &str, more: &str) -> Script {
    let mgp = format!(r#"{{"version":"0.2.0","extensions":[{extensions}]{more}}}"#);
    Script::named(&["works", "plays"]).capabilities(&format!(r#"{{"tools":{{}},"mgp":{mgp}}}"#))
}

async fn listed(client: &mut Raw, filter: Value) -> Vec<Value> {
    let listed = client.result("mgp/discovery/list", json!({"filter": filter})).await;
    listed["servers"].as_array().unwrap().clone()
}

// covers: MGP-15.2-16, MGP-15.2-20..26
async fn a_list_of_servers_says_of_each_what_the_specification_has() {
    let (mgp, lowered, plain) = (
        speaking(r#""security","audit""#, ""),
        speaking(r#""audit""#, r#","trust_level":"sandboxed""#),
        Script::named(&["works"]),
    );
    let mut trusted = mgp.server("speaks");
    trusted["security"] = json!({"trust_level": "trusted"});
    let mut distrusted = lowered.server("lowered");
    distrusted["security"] = json!({"trust_level": "trusted"});
    let mut config = quiet([trusted, distrusted, plain.server("plain")]);
    config["access"] =
        json!({"rules": [{"agent": "eve", "server": "speaks", "tool": "plays", "permission": "deny"}]});
    let host = Host::ready_with(config).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        let listed = ada.result("mgp/discovery/list", json!({})).await;
        let expected = json!({"servers": [
            // A server can only ask to be trusted less than the operator trusts it.
            {"id": "lowered", "status": "connected", "mgp_version": "0.2.0", "extensions": ["audit"],
                "tools": ["works", "plays"], "trust_level": "sandboxed"},
            {"id": "plain", "status": "connected", "extensions": [], "tools": ["works"],
                "trust_level": "standard"},
            {"id": "speaks", "status": "connected", "mgp_version": "0.2.0", "extensions": ["security", "audit"],
                "tools": ["works", "plays"], "trust_level": "trusted"},
        ]});
        assert_eq!(listed, expected);
        let mut eve = Raw::agent(&host, "eve", revision).await;
        let listed = eve.result("mgp/discovery/list", json!({})).await;
        assert_eq!(listed["servers"][2]["tools"], json!(["works"]), "only what the agent may call");
    }
}

// covers: MGP-15.2-17..19
async fn a_list_has_the_servers_for_which_all_holds_that_is_asked() {
    let (one, two, away) = (
        speaking(r#""security","audit""#, r#","permissions_required":["memory.read"]"#),
        speaking(r#""audit","streaming""#, r#","permissions_required":["memory.read","network.outbound"]"#),
        json!({"id": "away", "command": "/no/such/program", "restart_policy": "never"}),
    );
    let host = Host::with(quiet([one.server("one"), two.server("two"), away])).await;
    host.up("one").await;
    host.up("two").await;
    until("it failed", || host.view("away").last_error).await;
    for revision in ERAS {
        let ada = host.connect("ada", speaking_mgp().revisions([revision])).await;
        for (filter, expected) in [
            (json!({}), &["away", "one", "two"][..]),
            (json!({"extensions": ["audit"]}), &["one", "two"]),
            (json!({"extensions": ["audit", "streaming"]}), &["two"]),
            (json!({"permissions": ["memory.read"]}), &["one", "two"]),
            (json!({"permissions": ["network.outbound"]}), &["two"]),
            (json!({"status": "connected"}), &["one", "two"]),
            (json!({"status": "error"}), &["away"]),
            (json!({"extensions": ["security"], "permissions": ["network.outbound"]}), &[]),
        ] {
            let listed = ada.list_servers(&typed(&json!({"filter": filter}))).await.unwrap();
            let ids: Vec<_> = listed.servers.iter().map(|server| server.id.as_str()).collect();
            assert_eq!(ids, expected, "{filter}");
        }
        let mut ada = Raw::agent(&host, "ada", revision).await;
        let error = ada.error("mgp/discovery/list", json!({"filter": {"status": "any"}})).await;
        assert_eq!(error["code"], -32602);
    }
}

// covers: MGP-15.3-01
async fn what_the_configuration_declares_is_known_before_a_connection() {
    let mut server = talking::needing("mail", ["memory.read"]);
    // It is not connected to before its first agent comes.
    server["sharing"] = json!("agent");
    server["mgp"] = json!({
        "extensions": ["security", "lifecycle"], "permissions_required": ["memory.read"],
        "trust_level": "sandboxed",
    });
    // What is sandboxed is confined, and reads the folder of this program all the same.
    server["confine"] = json!(false);
    let host = Host::with(quiet([server])).await;
    let mut operator = Raw::operator(&host, ERAS[0]).await;
    let wanted = || json!({"extensions": ["security"], "permissions": ["memory.read"]});
    let before = listed(&mut operator, wanted()).await.remove(0);
    assert_eq!((&before["status"], &before["trust_level"]), (&json!("registered"), &json!("sandboxed")));
    assert_eq!(before["extensions"], json!(["security", "lifecycle"]));
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    ada.tool("mail.pid", json!({})).await;
    let after = listed(&mut ada, wanted()).await.remove(0);
    assert_eq!((&after["status"], &after["trust_level"]), (&json!("connected"), &json!("sandboxed")));
    let says: Vec<_> = after["extensions"].as_array().unwrap().clone();
    assert!(before["extensions"].as_array().unwrap().iter().all(|name| says.contains(name)), "{after}");
    assert!(after["mgp_version"].is_string() && before["mgp_version"].is_null());
}
