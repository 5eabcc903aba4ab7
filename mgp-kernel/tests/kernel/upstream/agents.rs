//! Agents that have connections of their own.

use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_types::RpcService;
use mgp_types::mgp::{ServerState, code};
use serde_json::{Value, json};

use super::server::COMMON;
use super::{ask, child, config};
use crate::host::{Heard, Host, Plain, hearing, names, say, until, until_found};
use crate::runner::tests;

tests![
    an_agent_finds_what_its_own_connection_lists_and_nothing_of_anothers,
    an_agent_is_told_what_the_server_says_on_its_own_connection_and_nothing_of_anothers,
    an_agent_that_looks_for_servers_finds_the_tools_of_its_own_connection_and_none_of_anothers,
    a_tool_that_each_connection_defines_otherwise_is_each_agents_own,
    the_first_list_of_an_agent_has_what_its_connection_lists,
    an_agent_without_access_has_no_connection_begin,
    a_server_of_agents_that_was_stopped_is_used_again_after_it_was_started,
    an_agent_that_is_admitted_no_more_is_shown_nothing_that_it_was_shown_before,
    a_connection_that_breaks_hides_the_tools_of_no_other,
    each_agent_is_told_of_a_resource_on_its_own_connection,
    a_resource_is_told_of_after_the_server_was_connected_to_anew,
];

/// A server to which each agent that comes has a connection of its own, with something that only this one has.
fn by_agent(id: &str) -> Value {
    let mut server = child(id);
    server["agents"] = json!({"ada": {"env": {"WHOSE": "ada"}}, "bob": {"env": {"WHOSE": "bob"}}});
    server
}

/// What stands under `member` of each item of a list.
async fn listed<S: RpcService>(
    client: &Client<S>,
    method: &'static str,
    (list, member): (&str, &str),
) -> Vec<String> {
    let listed = ask(client, method, json!({})).await.unwrap();
    let items = listed[list].as_array().unwrap().iter();
    items.map(|item| item[member].as_str().unwrap().to_owned()).collect()
}

async fn resources<S: RpcService>(client: &Client<S>) -> Vec<String> {
    listed(client, "resources/list", ("resources", "uri")).await
}

/// A client that counts how often it is told of a resource, and subscribes to the one that each connection has.
async fn subscriber(host: &Host, agent: &str) -> (Plain, Heard) {
    let builder = Client::builder("tests", "1.0.0").revisions([mgp_types::Revision::V2025_11_25]);
    let (builder, heard) = hearing(builder, &["notifications/resources/updated"]);
    let client = host.connect(agent, builder).await;
    names(&client).await;
    ask(&client, "resources/subscribe", json!({"uri": COMMON})).await.unwrap();
    (client, heard)
}

/// Has the connection of the client tell, until it hears of it.
async fn hears(client: &Plain, heard: &Heard) -> bool {
    let before = heard.lock().len();
    for _ in 0..50 {
        say(client, "mail.touch", json!({})).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        if heard.lock().len() > before {
            return true;
        }
    }
    false
}

async fn an_agent_finds_what_its_own_connection_lists_and_nothing_of_anothers() {
    let host = Host::start(vec![by_agent("mail")]).await;
    let (ada, bob) = (host.client("ada").await, host.client("bob").await);
    for client in [&ada, &bob] {
        names(client).await;
    }
    for (client, own, other) in [(&ada, "ada", "bob"), (&bob, "bob", "ada")] {
        let tools = names(client).await;
        assert!(tools.contains(&format!("mail.{own}_tool")), "{tools:?}");
        assert!(!tools.contains(&format!("mail.{other}_tool")), "{tools:?}");
        assert_eq!(resources(client).await, [format!("own://{own}/notes"), COMMON.to_owned()]);
        let prompts = listed(client, "prompts/list", ("prompts", "name")).await;
        assert_eq!(prompts, [format!("mail.{own}_prompt"), "mail.each_prompt".to_owned()]);
        let templates = ("resourceTemplates", "uriTemplate");
        let templates = listed(client, "resources/templates/list", templates).await;
        assert_eq!(templates, [format!("own://{own}/by-id/{{id}}")]);

        assert_eq!(say(client, &format!("mail.{own}_tool"), json!({})).await, format!("{own}'s"));
        assert!(client.call_tool(&format!("mail.{other}_tool"), json!({})).await.is_err());
        for uri in [format!("own://{own}/notes"), COMMON.to_owned()] {
            let read = ask(client, "resources/read", json!({"uri": uri})).await.unwrap();
            assert_eq!(read["contents"][0]["text"], format!("{own}'s"));
        }
        let by_id = json!({"uri": format!("own://{own}/by-id/7")});
        assert_eq!(ask(client, "resources/read", by_id).await.unwrap()["contents"][0]["text"], "7");
        for uri in [format!("own://{other}/notes"), format!("own://{other}/by-id/7")] {
            let refused = ask(client, "resources/read", json!({"uri": uri})).await.unwrap_err();
            assert!(refused.message().starts_with("there is no resource"), "{refused}");
            assert!(!refused.message().contains("did you mean `own://{other}"), "{refused}");
        }
        ask(client, "prompts/get", json!({"name": format!("mail.{own}_prompt")})).await.unwrap();
        let refused = ask(client, "prompts/get", json!({"name": format!("mail.{other}_prompt")})).await;
        assert!(refused.unwrap_err().message().starts_with("there is no prompt"));
    }
}

async fn an_agent_is_told_what_the_server_says_on_its_own_connection_and_nothing_of_anothers() {
    let host = Host::start(vec![by_agent("mail")]).await;
    let instructions_for = async |agent: &'static str| host.client(agent).await.instructions().unwrap();
    for agent in ["ada", "bob"] {
        // Of another's connection nothing is told to whoever has none yet.
        assert!(!instructions_for(agent).await.contains("# Server mail"));
        names(&host.client(agent).await).await;
        let instructions = instructions_for(agent).await;
        assert!(instructions.ends_with(&format!("Say that you come from {agent}.")), "{instructions}");
    }
}

async fn an_agent_that_looks_for_servers_finds_the_tools_of_its_own_connection_and_none_of_anothers() {
    let host = Host::start(vec![by_agent("mail")]).await;
    let found = async |client: &Plain| {
        let found = ask(client, "mgp/discovery/list", json!({})).await.unwrap();
        found["servers"][0]["tools"].as_array().unwrap().clone()
    };
    let (ada, bob) = (host.client("ada").await, host.client("bob").await);
    names(&ada).await;
    assert!(found(&ada).await.contains(&json!("ada_tool")));
    assert!(found(&bob).await.is_empty(), "bob has no connection yet");
    names(&bob).await;
    let tools = found(&bob).await;
    assert!(tools.contains(&json!("bob_tool")) && !tools.contains(&json!("ada_tool")), "{tools:?}");
}

async fn a_tool_that_each_connection_defines_otherwise_is_each_agents_own() {
    let host = Host::start(vec![by_agent("mail")]).await;
    let agents = [("ada", host.client("ada").await), ("bob", host.client("bob").await)];
    for _ in 0..2 {
        for (agent, client) in &agents {
            assert!(names(client).await.contains(&"mail.about".to_owned()), "{agent}");
            assert_eq!(say(client, "mail.about", json!({})).await, format!("{agent}'s"));
        }
    }
    let pins = ask(&host.operator().await, "kernel/pins/list", json!({"server_id": "mail"})).await.unwrap();
    let pins = pins["pins"].as_array().unwrap();
    let of = |holder: &str| pins.iter().any(|pin| pin["server_id"] == holder && pin["name"] == "about");
    assert!(of("mail@ada") && of("mail@bob"), "{pins:?}");
}

async fn the_first_list_of_an_agent_has_what_its_connection_lists() {
    let host = Host::start(vec![by_agent("mail")]).await;
    // Long after the kernel's start as well: it is the connection that is new.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(names(&host.client("ada").await).await.contains(&"mail.ada_tool".to_owned()));
    // Nor does a call by a known name need a list before it.
    assert_eq!(say(&host.client("bob").await, "mail.bob_tool", json!({})).await, "bob's");
}

async fn an_agent_without_access_has_no_connection_begin() {
    let mut server = child("mail");
    server["sharing"] = json!("agent");
    let mut config = serde_json::to_value(config(vec![server])).unwrap();
    config["access"] = json!({
        "default": "opt-in",
        "rules": [{"agent": "ada", "server": "mail", "permission": "allow"}],
    });
    let host = Host::start_with(serde_json::from_value(config).unwrap()).await;
    let (ada, eve) = (host.client("ada").await, host.client("eve").await);
    assert!(names(&ada).await.contains(&"mail.pid".to_owned()));
    assert!(names(&eve).await.is_empty());
    let refused = eve.call_tool("mail.pid", json!({})).await.unwrap_err();
    assert_eq!(refused.code(), code::ACCESS_DENIED, "{refused:?}");
    let agents: Vec<_> = host.kernel.servers().into_iter().map(|view| view.agent).collect();
    assert_eq!(agents, [Some("ada".to_owned())]);
}

async fn a_server_of_agents_that_was_stopped_is_used_again_after_it_was_started() {
    let host = Host::start(vec![by_agent("mail")]).await;
    let (ada, operator) = (host.client("ada").await, host.operator().await);
    for again in ["kernel/server/start", "kernel/server/restart"] {
        assert_eq!(say(&ada, "mail.ada_tool", json!({})).await, "ada's");
        ask(&operator, "kernel/server/stop", json!({"server_id": "mail"})).await.unwrap();
        // What it listed is gone with it, and nothing begins again by itself.
        assert!(names(&ada).await.is_empty());
        assert!(ada.call_tool("mail.ada_tool", json!({})).await.is_err());
        assert_eq!(host.view("mail").agent, None);
        ask(&operator, again, json!({"server_id": "mail"})).await.unwrap();
    }
    assert_eq!(say(&ada, "mail.ada_tool", json!({})).await, "ada's");
}

async fn an_agent_that_is_admitted_no_more_is_shown_nothing_that_it_was_shown_before() {
    let host = Host::start(vec![by_agent("mail")]).await;
    let ada = host.connect("ada", Client::builder("tests", "1.0.0").caching(false)).await;
    assert!(names(&ada).await.contains(&"mail.ada_tool".to_owned()));
    assert_eq!(resources(&ada).await.len(), 2);
    let mut server = by_agent("mail");
    server["agents"].as_object_mut().unwrap().remove("ada");
    host.kernel.reload(config(vec![server])).await.unwrap();
    assert!(names(&ada).await.is_empty());
    assert!(resources(&ada).await.is_empty());
}

async fn a_connection_that_breaks_hides_the_tools_of_no_other() {
    let mut server = by_agent("mail");
    server["restart_policy"] = json!("never");
    let host = Host::start(vec![server]).await;
    let (ada, bob) = (host.client("ada").await, host.client("bob").await);
    let pid = say(&ada, "mail.pid", json!({})).await;
    names(&bob).await;
    let finds = async || {
        let found = ask(&bob, "mgp/tools/discover", json!({"query": "a variable of the environment"})).await;
        found.unwrap()["tools"].to_string().contains("mail.variable")
    };
    until_found("the tool is found", async || finds().await.then_some(())).await;
    assert!(std::process::Command::new("kill").args(["-s", "KILL", &pid]).status().unwrap().success());
    let broken = |view: &mgp_kernel::ServerView| {
        view.agent.as_deref() == Some("ada") && view.state != ServerState::Connected
    };
    until("ada's connection is broken", || host.kernel.servers().iter().any(broken).then_some(())).await;
    for _ in 0..20 {
        assert!(finds().await, "the tools are found by whose connection is up");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn each_agent_is_told_of_a_resource_on_its_own_connection() {
    let host = Host::start(vec![by_agent("mail")]).await;
    let (ada, of_ada) = subscriber(&host, "ada").await;
    let (bob, of_bob) = subscriber(&host, "bob").await;
    assert!(hears(&bob, &of_bob).await, "bob's connection was asked as well");
    assert_eq!(of_ada.lock().len(), 0, "what bob's connection tells is not ada's");
    assert!(hears(&ada, &of_ada).await);
}

async fn a_resource_is_told_of_after_the_server_was_connected_to_anew() {
    let mut server = child("mail");
    server["env"] = json!({"WHOSE": "everybody"});
    let host = Host::ready(vec![server.clone()]).await;
    let (client, heard) = subscriber(&host, "ada").await;
    assert!(hears(&client, &heard).await);
    server["env"]["OTHER"] = json!("1");
    let applied = host.kernel.reload(config(vec![server])).await.unwrap();
    assert_eq!(applied.changed, ["mail".into()]);
    until("the server is connected", || (host.view("mail").state == ServerState::Connected).then_some(()))
        .await;
    assert!(hears(&client, &heard).await, "the new connection was asked as well");
}
