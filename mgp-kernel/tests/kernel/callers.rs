//! Who may do what, and with whose credentials.

use std::time::Duration;

use mgp_types::RawJson;
use serde_json::json;

use crate::host::{Host, ask, found, listed, names, quiet, refused, say};
use crate::runner::tests;
use crate::scripted::Script;
use crate::talking;
use crate::web::Web;

tests![
    a_call_goes_with_the_credentials_of_its_caller_and_no_other,
    what_a_caller_may_not_call_is_nowhere_to_be_seen,
    a_call_that_waits_takes_a_place_of_its_agent_and_of_nobody_else,
];

async fn a_call_goes_with_the_credentials_of_its_caller_and_no_other() {
    let web = Web::start().await;
    let mut over_http = web.server("web");
    over_http["agents"] = json!({
        "ada": {"headers": {"Authorization": "Bearer ada's"}},
        "bob": {"headers": {"Authorization": "Bearer bob's"}},
    });
    let mut as_child = talking::server("mail");
    as_child["env"] = json!({"TOKEN": "nobody's"});
    as_child["agents"] = json!({"ada": {"env": {"TOKEN": "ada's"}}, "bob": {"env": {"TOKEN": "bob's"}}});
    let host = Host::start([over_http, as_child]).await;
    let (ada, bob, eve) = (host.client("ada").await, host.client("bob").await, host.client("eve").await);
    let token = || json!({"name": "TOKEN"});
    for agent in [&ada, &bob] {
        listed(agent, "mail.variable").await;
        listed(agent, "web.look").await;
    }
    for _ in 0..3 {
        for (agent, name) in [(&ada, "ada's"), (&bob, "bob's")] {
            assert_eq!(say(agent, "mail.variable", token()).await, name);
            assert_eq!(say(agent, "web.look", json!({})).await, format!("Bearer {name}"));
        }
    }
    for tool in ["mail.variable", "web.look"] {
        refused(eve.call_tool(tool, token()).await);
    }
    assert_eq!(names(&eve).await, Vec::<String>::new());
    let seen = web.seen();
    assert_eq!((seen.begun, seen.authorizations.len()), (2, 6), "{seen:?}");
}

// covers: MGP-8.2-03
async fn what_a_caller_may_not_call_is_nowhere_to_be_seen() {
    let (bank, files) =
        (Script::named(&["transfer_money", "read_balance"]), Script::named(&["read_note", "write_note"]));
    let mut config = quiet([bank.server("bank"), files.server("files")]);
    config["access"] = json!({
        "default": "opt-out",
        "rules": [
            {"agent": "intern", "server": "bank", "permission": "deny"},
            {"agent": "intern", "server": "files", "tool": "write_note", "permission": "deny"},
        ],
    });
    let host = Host::ready_with(config).await;
    let (intern, boss) = (host.client("intern").await, host.client("boss").await);
    listed(&boss, "bank.transfer_money").await;
    assert_eq!(names(&boss).await.len(), 4);
    assert_eq!(names(&intern).await, ["files.read_note"]);

    // Neither does a search find it, nor is it a near match of a slip.
    assert!(
        format!("{:?}", texts(&found(&boss, "transfer money", "bank.transfer_money").await))
            .contains("transfer_money")
    );
    let found =
        format!("{:?}", texts(&found(&intern, "read a note, or transfer money", "files.read_note").await));
    assert!(!found.contains("transfer_money") && !found.contains("write_note"), "{found}");
    for (tool, near) in [("bank.transfer_mony", "transfer_money"), ("files.write_not", "write_note")] {
        let said = refused(intern.call_tool(tool, json!({})).await);
        assert!(!said.contains(near), "{said}");
        let said = refused(boss.call_tool(tool, json!({})).await);
        assert!(said.contains(near), "{said}");
    }

    // And it cannot be called.
    refused(intern.call_tool("bank.transfer_money", json!({})).await);
    refused(intern.call_tool("files.write_note", json!({})).await);
    assert_eq!(bank.calls().len() + files.calls().len(), 0);
    assert_eq!(say(&intern, "files.read_note", json!({})).await, "{}");
    assert_eq!(say(&boss, "bank.transfer_money", json!({})).await, "{}");
}

async fn a_call_that_waits_takes_a_place_of_its_agent_and_of_nobody_else() {
    let script = Script::named(&["works"]);
    let (mut asks, files) = (script.server("asks"), script.server("files"));
    asks["security"] = json!({"confirmation": true});
    let mut config = quiet([asks, files]);
    config["confirmation"] = json!({"dangerous": false});
    config["permissions"]["patience_secs"] = json!(2);
    config["limits"] = json!({"agent_concurrency": 1, "waiting_calls": 0});
    let host = Host::with(config).await;
    let (ada, operator) = (host.client("ada").await, host.operator().await);
    for server in ["asks", "files"] {
        host.up(server).await;
        listed(&ada, &format!("{server}.works")).await;
    }
    let waiting = async {
        refused(ada.call_tool("asks.works", json!({})).await);
    };
    let meanwhile = async {
        let (same, other) = (host.client("ada").await, host.client("bob").await);
        // Operators are answered whatever the load.
        while ask(&operator, "kernel/permissions/pending", json!({})).await["questions"] == json!([]) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let why = refused(same.call_tool("files.works", json!({})).await);
        assert!(why.contains("too many calls") && why.contains("agent_concurrency"), "{why}");
        assert_eq!(say(&other, "files.works", json!({})).await, "{}");
    };
    tokio::join!(waiting, meanwhile);
    assert_eq!(say(&ada, "files.works", json!({})).await, "{}");
}

fn texts(found: &[RawJson]) -> Vec<String> {
    found.iter().map(|tool| String::from_utf8(tool.as_bytes().to_vec()).unwrap()).collect()
}
