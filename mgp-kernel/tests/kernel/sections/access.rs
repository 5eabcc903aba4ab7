//! Access control (§5).

use std::time::Duration;

use mgp_types::mgp::Timestamp;
use serde_json::{Value, json};

use super::raw::{ERAS, Raw};
use crate::host::{Host, quiet, until_found};
use crate::runner::tests;
use crate::scripted::Script;

tests![
    an_entry_for_a_tool_decides_before_one_for_its_server_and_both_before_the_default,
    the_access_of_an_agent_is_told_with_what_decided_who_and_when,
    an_entry_is_what_the_operator_writes,
    an_entry_that_ends_decides_no_more,
    an_entry_is_revoked_and_no_other,
];

/// A kernel with two tools, in which agents may do nothing or everything unless there is an entry.
async fn kernel(default: &str) -> (Host, Script) {
    let script = Script::named(&["read", "write"]);
    let mut config = quiet([script.server("files")]);
    config["access"] = json!({"default": default});
    let host = Host::ready_with(config).await;
    (host, script)
}

fn entry(agent: &str, tool: Option<&str>, permission: &str) -> Value {
    let entry_type = if tool.is_some() { "tool_grant" } else { "server_grant" };
    json!({
        "entry_type": entry_type, "agent_id": agent, "server_id": "files", "tool_name": tool,
        "permission": permission, "granted_by": "somebody", "justification": "a test", "expires_at": null,
    })
}

fn about(agent: &str, tool: Option<&str>) -> Value {
    json!({"agent_id": agent, "server_id": "files", "tool_name": tool})
}

// covers: MGP-5.1-01, MGP-5.2-01..03, MGP-5.3-01, MGP-5.3-02, MGP-5.5-01, MGP-5.5-02, GGEN-8.4-02
async fn an_entry_for_a_tool_decides_before_one_for_its_server_and_both_before_the_default() {
    for (default, usual, other) in [("opt-in", "deny", "allow"), ("opt-out", "allow", "deny")] {
        let (host, script) = kernel(default).await;
        for revision in ERAS {
            let mut operator = Raw::operator(&host, revision).await;
            let mut ada = Raw::agent(&host, "ada", revision).await;
            // What decides about each tool, and with which outcome.
            let mut decides = async |operator: &mut Raw, read: [&str; 2], write: [&str; 2]| {
                for (tool, [source, permission]) in [("read", read), ("write", write)] {
                    let state = operator.result("mgp/access/query", about("ada", Some(tool))).await;
                    assert_eq!(
                        (&state["source"], &state["permission"]),
                        (&json!(source), &json!(permission))
                    );
                    let before = script.calls().len();
                    let call = json!({"name": format!("files.{tool}"), "arguments": {}});
                    let answer = ada.call("tools/call", call).await;
                    let reached = script.calls().len() - before;
                    match permission {
                        "allow" => assert!(answer["result"].is_object() && reached == 1, "{answer}"),
                        _ => assert!(answer["error"]["code"] == 1001 && reached == 0, "{answer}"),
                    }
                }
            };
            let default = ["default_policy", usual];
            decides(&mut operator, default, default).await;
            operator.result("mgp/access/grant", entry("ada", None, other)).await;
            decides(&mut operator, ["server_grant", other], ["server_grant", other]).await;
            operator.result("mgp/access/grant", entry("ada", Some("read"), usual)).await;
            decides(&mut operator, ["tool_grant", usual], ["server_grant", other]).await;
            let server = json!({"agent_id": "ada", "server_id": "files", "entry_type": "server_grant"});
            operator.result("mgp/access/revoke", server).await;
            decides(&mut operator, ["tool_grant", usual], default).await;
            let mut tool = about("ada", Some("read"));
            tool["entry_type"] = json!("tool_grant");
            operator.result("mgp/access/revoke", tool).await;
            decides(&mut operator, default, default).await;
        }
    }
}

// covers: MGP-5.4-01..09
async fn the_access_of_an_agent_is_told_with_what_decided_who_and_when() {
    let (host, _script) = kernel("opt-in").await;
    for revision in ERAS {
        let mut operator = Raw::operator(&host, revision).await;
        let default = json!({
            "permission": "deny", "source": "default_policy", "granted_by": null, "granted_at": null,
            "expires_at": null,
        });
        assert_eq!(operator.result("mgp/access/query", about("ada", Some("read"))).await, default);

        let before = Timestamp::now();
        let end = "2126-03-01T00:00:00.000Z";
        let mut of_server = entry("ada", None, "allow");
        of_server["expires_at"] = json!(end);
        operator.result("mgp/access/grant", of_server).await;
        operator.result("mgp/access/grant", entry("ada", Some("write"), "deny")).await;
        let mut without = about("ada", None);
        without.as_object_mut().unwrap().remove("tool_name");
        for asked in [about("ada", Some("read")), about("ada", None), without] {
            let mut state = operator.result("mgp/access/query", asked).await;
            let granted: Timestamp = serde_json::from_value(state["granted_at"].take()).unwrap();
            assert!(before <= granted && granted <= Timestamp::now(), "{granted}");
            let expected = json!({
                "permission": "allow", "source": "server_grant", "granted_by": "root", "granted_at": null,
                "expires_at": end,
            });
            assert_eq!(state, expected);
        }
        let state = operator.result("mgp/access/query", about("ada", Some("write"))).await;
        assert_eq!((&state["source"], &state["expires_at"]), (&json!("tool_grant"), &Value::Null));
        // Another agent and another server are others.
        assert_eq!(operator.result("mgp/access/query", about("bob", Some("read"))).await, default);
        let mut elsewhere = about("ada", Some("read"));
        elsewhere["server_id"] = json!("elsewhere");
        assert_eq!(operator.result("mgp/access/query", elsewhere).await, default);
        for entry_type in ["server_grant", "tool_grant"] {
            let mut entry = about("ada", Some("write").filter(|_| entry_type == "tool_grant"));
            entry["entry_type"] = json!(entry_type);
            operator.result("mgp/access/revoke", entry).await;
        }
    }
}

// covers: MGP-5.4-10..19
async fn an_entry_is_what_the_operator_writes() {
    let (host, _script) = kernel("opt-in").await;
    for revision in ERAS {
        let mut operator = Raw::operator(&host, revision).await;
        let mut wanted = entry("ada", Some("read"), "allow");
        wanted["expires_at"] = json!("2126-03-01T00:00:00.000Z");
        for wanted in [wanted, entry("bob", None, "deny")] {
            let granted = operator.result("mgp/access/grant", wanted.clone()).await;
            assert_eq!((&granted["status"], &granted["granted_by"]), (&json!("granted"), &json!("root")));
            assert!(granted["id"].is_u64(), "{granted}");
            // The one who granted is known; another name for it is no more than that.
            assert_eq!(granted["entry"]["granted_by_label"], "somebody");
            let asked = json!({"agent_id": wanted["agent_id"], "server_id": wanted["server_id"]});
            let listed = operator.result("kernel/access/list", asked).await;
            let kept = &listed["entries"][0];
            for member in [
                "entry_type", "agent_id", "server_id", "tool_name", "permission", "justification",
                "expires_at",
            ] {
                assert_eq!(kept[member], wanted[member], "{member}: {kept}");
            }
        }
        for (member, wrong) in [
            ("entry_type", json!("agent_grant")),
            ("tool_name", Value::Null),
            ("permission", json!("maybe")),
            ("expires_at", json!("tomorrow")),
            ("agent_id", json!(7)),
            ("server_id", Value::Null),
        ] {
            let mut entry = entry("eve", Some("read"), "allow");
            entry[member] = wrong;
            let error = operator.error("mgp/access/grant", entry).await;
            assert_eq!(error["code"], -32602, "{member}: {error}");
        }
        let mut agent = Raw::agent(&host, "eve", revision).await;
        let refused = agent.error("mgp/access/grant", entry("eve", None, "allow")).await;
        assert_eq!(refused["code"], 1000, "{refused}");
        let none = operator.result("kernel/access/list", json!({"agent_id": "eve"})).await;
        assert_eq!(none["entries"], json!([]));
    }
}

// covers: MGP-5.4-09, MGP-5.4-18
async fn an_entry_that_ends_decides_no_more() {
    let (host, _script) = kernel("opt-in").await;
    let mut operator = Raw::operator(&host, ERAS[0]).await;
    let mut ending = entry("ada", None, "allow");
    ending["expires_at"] = json!(Timestamp::now().saturating_add(Duration::from_secs(5)));
    operator.result("mgp/access/grant", ending.clone()).await;
    let state = operator.result("mgp/access/query", about("ada", None)).await;
    assert_eq!((&state["permission"], &state["expires_at"]), (&json!("allow"), &ending["expires_at"]));
    until_found("the entry ends", async || {
        let state = operator.result("mgp/access/query", about("ada", None)).await;
        (state["permission"] != "allow").then_some(())
    })
    .await;
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    assert_eq!(ada.refused("files.read", json!({})).await["code"], 1001);
}

// covers: MGP-5.4-20..24
async fn an_entry_is_revoked_and_no_other() {
    let (host, script) = kernel("opt-in").await;
    for revision in ERAS {
        let mut operator = Raw::operator(&host, revision).await;
        let wanted = [
            entry("ada", None, "allow"),
            entry("ada", Some("read"), "allow"),
            entry("ada", Some("write"), "allow"),
            entry("bob", None, "allow"),
        ];
        for wanted in wanted {
            operator.result("mgp/access/grant", wanted).await;
        }
        let left = async |operator: &mut Raw| {
            let listed = operator.result("kernel/access/list", json!({"server_id": "files"})).await;
            let rows = listed["entries"].as_array().unwrap().iter();
            let names = rows.map(|row| format!("{} {}", row["agent_id"], row["tool_name"]).replace('"', ""));
            names.collect::<Vec<_>>()
        };
        let mut tool = json!({"agent_id": "ada", "server_id": "files", "entry_type": "tool_grant"});
        assert_eq!(operator.error("mgp/access/revoke", tool.clone()).await["code"], -32602);
        tool["tool_name"] = json!("read");
        let revoked = operator.result("mgp/access/revoke", tool.clone()).await;
        assert_eq!((&revoked["status"], &revoked["deleted_count"]), (&json!("revoked"), &json!(1)));
        assert_eq!(operator.result("mgp/access/revoke", tool).await["deleted_count"], 0);
        assert_eq!(left(&mut operator).await, ["ada null", "ada write", "bob null"]);
        let server =
            |agent: &str| json!({"agent_id": agent, "server_id": "files", "entry_type": "server_grant"});
        operator.result("mgp/access/revoke", server("bob")).await;
        assert_eq!(left(&mut operator).await, ["ada null", "ada write"]);
        operator.result("mgp/access/revoke", server("ada")).await;
        assert_eq!(left(&mut operator).await, ["ada write"]);
        let mut ada = Raw::agent(&host, "ada", revision).await;
        assert_eq!(ada.refused("files.read", json!({})).await["code"], 1001);
        let before = script.calls().len();
        ada.tool("files.write", json!({})).await;
        assert_eq!(script.calls().len(), before + 1);
        let mut last = server("ada");
        (last["entry_type"], last["tool_name"]) = (json!("tool_grant"), json!("write"));
        operator.result("mgp/access/revoke", last).await;
    }
}
