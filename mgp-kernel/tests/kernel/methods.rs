//! MGP's methods, for clients with and without MGP.

use mgp_client_sdk::Client;
use mgp_server_sdk::{Server, Tool};
use mgp_types::Revision;
use mgp_types::mgp::ServerState;
use serde_json::{Value, json};

use crate::host::{Heard, Host, Plain, ask, hearing, listed, quiet, refused, say, until};
use crate::runner::tests;
use crate::scripted::Script;

tests![
    the_health_of_a_server_is_for_operators,
    agents_that_may_manage_ask_about_servers_that_they_reach,
    a_plain_client_lists_the_servers_that_it_reaches,
    a_plain_client_hears_the_events_that_it_subscribed_to,
    an_agent_hears_no_events_of_servers_that_it_may_not_use,
    a_server_behind_a_unix_socket_is_one_like_any_other,
];

async fn the_health_of_a_server_is_for_operators() {
    let script = Script::named(&["works"]);
    let host = Host::ready([script.server("files")]).await;
    let operator = host.operator().await;
    let files = || json!({"server_id": "files"});
    let ping = ask(&operator, "mgp/health/ping", files()).await;
    assert_eq!((&ping["status"], &ping["server_id"]), (&json!("healthy"), &json!("files")));
    let report = ask(&operator, "mgp/health/status", files()).await;
    assert_eq!(report["status"], "healthy", "{report}");
    // Without a name it is the kernel's own.
    assert_eq!(ask(&operator, "mgp/health/ping", json!({})).await["server_id"], "mgp");
    let unknown = operator.request("mgp/health/ping", json!({"server_id": "other"})).await.unwrap_err();
    assert_eq!(unknown.code(), -32602);

    let (agent, plain) = (host.client("one").await, host.plain("other").await);
    for (method, tool) in [
        ("mgp/health/ping", "mgp.health.ping"),
        ("mgp/health/status", "mgp.health.status"),
        ("mgp/lifecycle/shutdown", "mgp.lifecycle.shutdown"),
    ] {
        for server in ["files", "other"] {
            let params = json!({"server_id": server, "reason": "operator_request", "timeout_ms": 1000});
            // Whether there is such a server is not told.
            let error = agent.request(method, params.clone()).await.unwrap_err();
            assert_eq!((error.code(), error.message()), (1000, "only operators may look after servers"));
            assert!(refused(plain.call_tool(tool, params).await).contains("only operators"));
        }
    }
    assert_eq!(ask(&agent, "mgp/health/ping", json!({})).await["status"], "healthy");
    assert_eq!(host.view("files").state, ServerState::Connected);
}

async fn agents_that_may_manage_ask_about_servers_that_they_reach() {
    let script = Script::named(&["works"]);
    let mut config = quiet([script.server("files")]);
    config["kernel"] = json!({"agents_manage": true});
    config["access"] = json!({"default": "opt-in", "rules": [
        {"agent": "ada", "server": "files", "permission": "allow"},
    ]});
    let host = Host::ready_with(config).await;
    let (ada, eve) = (host.client("ada").await, host.client("eve").await);
    assert_eq!(ask(&ada, "mgp/health/ping", json!({"server_id": "files"})).await["status"], "healthy");
    let of_eve = |server: &str| eve.request("mgp/health/ping", json!({"server_id": server}));
    let (files, none) = (of_eve("files").await.unwrap_err(), of_eve("none").await.unwrap_err());
    assert_eq!((files.code(), none.code()), (-32602, -32602));
    assert_eq!(files.message().replace("files", "none"), none.message());
}

/// What a method answers that is called as a tool.
async fn as_tool(client: &Plain, tool: &str, arguments: Value) -> Value {
    let result = client.call_tool(tool, arguments).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{result:?}");
    serde_json::from_str(&crate::host::text(&result)).unwrap()
}

async fn a_plain_client_lists_the_servers_that_it_reaches() {
    let (files, bank) = (Script::named(&["works"]), Script::named(&["transfer"]));
    let mut config = quiet([files.server("files"), bank.server("bank")]);
    config["access"] = json!({"default": "opt-out", "rules": [
        {"agent": "intern", "server": "bank", "permission": "deny"},
    ]});
    let host = Host::ready_with(config).await;
    for (agent, expected) in [("intern", vec!["files"]), ("boss", vec!["bank", "files"])] {
        let client = host.plain(agent).await;
        let listed = as_tool(&client, "mgp.discovery.list", json!({})).await;
        let servers = listed["servers"].as_array().unwrap();
        let mut ids: Vec<_> = servers.iter().map(|server| server["id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids, expected, "{listed}");
    }
}

/// A client that knows nothing of MGP, and the events that it was told.
async fn hearing_events(host: &Host, agent: &str) -> (Plain, Heard) {
    let builder = Client::builder("tests", "1.0.0").mgp(None).revisions([Revision::V2025_11_25]);
    let (builder, heard) = hearing(builder, &["notifications/mgp.event"]);
    (host.connect(agent, builder).await, heard)
}

async fn a_plain_client_hears_the_events_that_it_subscribed_to() {
    let script = Script::named(&["crash"]);
    let host = Host::ready([script.server("files")]).await;
    let (client, heard) = hearing_events(&host, "one").await;
    let subscribed = as_tool(&client, "mgp.events.subscribe", json!({"channels": ["lifecycle"]})).await;
    let subscription = subscribed["subscription_id"].clone();
    assert!(subscription.is_string(), "{subscribed}");
    let _lost = client.call_tool("files.crash", json!({})).await;
    let (_, event) = until("an event is told", || heard.lock().first().cloned()).await;
    assert!(event.contains("lifecycle") && event.contains("files"), "{event}");
    as_tool(&client, "mgp.events.unsubscribe", json!({"subscription_id": subscription})).await;
    let back = async |restarts| {
        until("it is back", || (host.view("files").restarts == restarts).then_some(())).await;
        host.up("files").await;
    };
    back(1).await;
    let before = heard.lock().len();
    let _lost = client.call_tool("files.crash", json!({})).await;
    back(2).await;
    // What is told before an answer comes before it.
    as_tool(&client, "mgp.discovery.list", json!({})).await;
    assert_eq!(heard.lock().len(), before);
}

async fn an_agent_hears_no_events_of_servers_that_it_may_not_use() {
    let script = Script::named(&["crash"]);
    let mut config = quiet([script.server("files")]);
    config["access"] = json!({"default": "opt-in"});
    let host = Host::ready_with(config).await;
    let (client, of_one) = hearing_events(&host, "one").await;
    let wanted = json!({"channels": ["lifecycle", "audit", "files.*"]});
    let subscribed = as_tool(&client, "mgp.events.subscribe", wanted).await;
    assert_eq!(subscribed["subscribed"], json!(["lifecycle"]), "{subscribed}");
    let operator = host.operator().await;
    let grant = json!({
        "entry_type": "server_grant", "agent_id": "two", "server_id": "files", "permission": "allow",
    });
    operator.request("mgp/access/grant", grant).await.unwrap();
    let (other, of_two) = hearing_events(&host, "two").await;
    let _lost = other.call_tool("files.crash", json!({})).await;
    until("it is back", || (host.view("files").restarts > 0).then_some(())).await;
    host.up("files").await;
    assert!(of_one.lock().is_empty() && of_two.lock().is_empty());
    as_tool(&other, "mgp.events.subscribe", json!({"channels": ["lifecycle"]})).await;
    let _lost = other.call_tool("files.crash", json!({})).await;
    until("an event is told", || (!of_two.lock().is_empty()).then_some(())).await;
    assert!(of_one.lock().is_empty());
}

async fn a_server_behind_a_unix_socket_is_one_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("server.sock");
    let serve = || {
        let server = Server::new("behind", "1.0.0").tool(Tool::new("hello", "Greets."), async || "hello");
        tokio::spawn(server.serve_unix(socket.clone()))
    };
    let serving = serve();
    let host = Host::ready([json!({
        "id": "near", "socket": socket, "sharing": "shared", "backoff_base_ms": 20, "backoff_max_ms": 50,
    })])
    .await;
    for client in [host.client("one").await, host.plain("other").await] {
        listed(&client, "near.hello").await;
        assert_eq!(say(&client, "near.hello", json!({})).await, "hello");
    }
    // One that is started anew is connected to again.
    serving.abort();
    let _ended = serving.await;
    let _again = serve();
    until("it is back", || (host.view("near").restarts > 0).then_some(())).await;
    host.up("near").await;
    assert_eq!(say(&host.client("one").await, "near.hello", json!({})).await, "hello");
}
