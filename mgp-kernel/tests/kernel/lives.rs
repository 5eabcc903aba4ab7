//! Servers that are bad, crash, come back, or take their time.

use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_types::mgp::ServerState;
use serde_json::json;
use tokio::time::Instant;

use crate::host::{Host, hearing, listed, names, say, until, until_found};
use crate::runner::tests;
use crate::scripted::Script;

tests![
    a_bad_server_breaks_nothing,
    a_restarted_server_publishes_its_tools_anew,
    the_kernel_answers_at_once_and_tools_of_slow_servers_come_later,
    a_resource_of_a_server_that_starts_is_waited_for,
    a_plain_client_is_told_what_became_of_its_call_and_what_to_do,
    a_server_that_has_failed_often_is_tried_at_once_when_it_was_connected_to_anew,
];

async fn a_bad_server_breaks_nothing() {
    let good = Script::named(&["works"]);
    let broken_list = Script::new("{this is no list");
    let crashing = Script::named(&["crash"]);
    let shell = |id: &str, script: &str| json!({"id": id, "command": "/bin/sh", "args": ["-c", script]});
    let host = Host::start([
        json!({"id": "missing", "command": "/no/such/program"}),
        json!({"id": "unreachable", "url": "http://127.0.0.1:1/mcp"}),
        shell("silent", "exec sleep 1000"),
        shell("babbling", "while :; do echo 'this is not JSON'; sleep 0.01; done"),
        shell("dying", "exit 3"),
        broken_list.server("lists"),
        crashing.server("crashing"),
        good.server("good"),
    ])
    .await;
    host.up("good").await;
    host.up("crashing").await;
    let client = host.client("one").await;
    let began = Instant::now();
    assert_eq!(say(&client, "good.works", json!({"a": "1"})).await, r#"{"a":"1"}"#);
    assert!(client.call_tool("crashing.crash", json!({})).await.is_err());
    assert_eq!(say(&client, "good.works", json!({"a": "2"})).await, r#"{"a":"2"}"#);
    assert!(names(&client).await.contains(&"good.works".to_owned()));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for bad in ["missing", "unreachable", "dying", "lists"] {
        until("the bad servers say what is wrong", || host.view(bad).last_error).await;
        assert_ne!(host.view(bad).state, ServerState::Connected, "{bad}");
    }
}

async fn a_restarted_server_publishes_its_tools_anew() {
    let script = Script::named(&["crash", "old"]);
    let host = Host::ready([script.server("files")]).await;
    let client = host.client("one").await;
    listed(&client, "files.old").await;
    script.tools(r#"[{"name":"new","description":"Reads what is new.","inputSchema":{"type":"object"}}]"#);
    assert!(client.call_tool("files.crash", json!({})).await.is_err());
    listed(&client, "files.new").await;
    assert_eq!(names(&client).await, ["files.new"]);
    assert_eq!(say(&client, "files.new", json!({})).await, "{}");
    let view = host.view("files");
    assert_eq!((view.state, view.tools, view.restarts), (ServerState::Connected, 1, 1));
}

async fn the_kernel_answers_at_once_and_tools_of_slow_servers_come_later() {
    let (quick, slow) = (Script::named(&["works"]), Script::named(&["works"]).slow(Duration::from_secs(20)));
    let host = Host::start([quick.server("quick"), slow.server("slow")]).await;
    let began = Instant::now();
    let builder = Client::builder("tests", "1.0.0").revisions([mgp_types::Revision::V2025_06_18]);
    let (builder, heard) = hearing(builder, &["notifications/tools/list_changed"]);
    let client = host.connect("one", builder).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    host.up("quick").await;
    // A list waits a little, for clients that ask only once, and not for a server that takes too long.
    assert_eq!(names(&client).await, ["quick.works"]);
    let before = heard.lock().len();
    until("the client is told", || (heard.lock().len() > before).then_some(())).await;
    assert_eq!(names(&client).await, ["quick.works", "slow.works"]);
    assert_eq!(say(&client, "slow.works", json!({})).await, "{}");
}

async fn a_resource_of_a_server_that_starts_is_waited_for() {
    let slow = Script::named(&["works"]).slow(Duration::from_secs(3));
    let host = Host::start([slow.server("slow")]).await;
    let client = host.client("one").await;
    assert_ne!(host.view("slow").state, ServerState::Connected);
    // Whether there is such a resource can be told when all servers have said what they have.
    assert!(client.read_resource("test://of-nobody").await.is_err());
    assert_eq!(host.view("slow").state, ServerState::Connected);
}

async fn a_plain_client_is_told_what_became_of_its_call_and_what_to_do() {
    let script = Script::named(&["crash"]);
    let mut server = script.server("files");
    server["restart_policy"] = json!("never");
    let host = Host::ready([server]).await;
    let client = host.plain("one").await;
    let lost = client.call_tool("files.crash", json!({})).await.unwrap_err();
    assert!(lost.code() == -32603 && lost.message().contains("whether the call was carried out"), "{lost}");
    until("it is down", || (host.view("files").state == ServerState::Error).then_some(())).await;
    let refused = client.call_tool("files.crash", json!({})).await.unwrap_err();
    let message = refused.message();
    assert!(message.contains("`files`") && message.contains("until somebody mends it"), "{message}");
    assert_eq!(script.calls().len(), 1);
}

async fn a_server_that_has_failed_often_is_tried_at_once_when_it_was_connected_to_anew() {
    let script = Script::named(&["fail", "works"]);
    script.fails_with(r#""no error has this form""#);
    let host = Host::ready([script.server("far")]).await;
    let client = host.client("one").await;
    let rests = async || {
        let failed = client.call_tool("far.fail", json!({})).await.unwrap_err();
        failed.message().contains("failed too often").then_some(())
    };
    until_found("the server rests", rests).await;
    // The first rests are shorter than a call waits.
    for _ in 0..2 {
        until_found("a call fails again", async || rests().await.is_none().then_some(())).await;
    }
    rests().await.unwrap();
    host.kernel.restart("far").await.unwrap();
    assert_eq!(say(&client, "far.works", json!({})).await, "{}");
}
