//! What servers begin (§13), and the transports that it travels on (§1.4).

use mgp_client_sdk::Client;
use mgp_server_sdk::{Callback, Confirmation, Cx, Server, Tool, ToolError};
use mgp_types::Principal;
use mgp_types::mgp::{ExtensionSet, Offer};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::raw::{ERAS, Raw};
use crate::host::{Host, Served, quiet, say, until};
use crate::runner::tests;
use crate::scripted::Script;
use crate::talking;

tests![
    events_are_subscribed_to_and_pushed_and_a_call_asks_back,
    a_server_that_answers_as_printed_gets_the_printed_request,
    the_printed_event_of_a_server_comes_until_the_client_wants_no_more,
    a_server_with_channels_of_its_own_is_asked_for_those_that_clients_name,
    a_subscription_with_a_filter_is_its_agents_own_at_the_kernel_too,
    mgp_is_spoken_over_each_transport_on_both_sides,
];

// covers: MGP-13.1-01
async fn events_are_subscribed_to_and_pushed_and_a_call_asks_back() {
    let disk = Server::new("disk", "1.0.0").mgp(Offer::new(ExtensionSet::standard())).callbacks().tool(
        Tool::new("delete", "Deletes."),
        async |cx: Cx| {
            let question = Callback::confirmation("Delete all of it?");
            let answer: Confirmation = cx.callback("delete", question).await?;
            Ok::<_, ToolError>(if answer.is_confirmed() { "deleted" } else { "kept" })
        },
    );
    let served = Served::start("disk", disk).await;
    let mut config = quiet([served.config.clone(), talking::server("files")]);
    config["access"] = json!({"default": "opt-out"});
    let host = Host::ready_with(config).await;
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;

    // Subscribed to, and pushed.
    let subscribed = ada.result("mgp/events/subscribe", json!({"channels": ["lifecycle"]})).await;
    host.kernel.restart("files").await.unwrap();
    let event = ada.next_notification("notifications/mgp.event").await["params"].clone();
    assert_eq!(event["subscription_id"], subscribed["subscription_id"]);
    assert_eq!((&event["channel"], &event["data"]["server_id"]), (&json!("lifecycle"), &json!("files")));

    // A call asks back, and goes on with the answer; meanwhile the connection is free.
    for (response, outcome) in [("yes", "deleted"), ("no", "kept")] {
        let call = ada.send("tools/call", json!({"name": "disk.delete", "arguments": {}})).await;
        let asked = ada.next_notification("notifications/mgp.callback.request").await["params"].clone();
        assert_eq!((&asked["request_id"], &asked["type"]), (&json!(call), &json!("confirmation")));
        assert_eq!(asked["message"], "Delete all of it?");
        assert_eq!(ada.result("mgp/health/ping", json!({})).await["status"], "healthy");
        let options: Vec<Value> = asked["options"].as_array().unwrap().clone();
        let chosen = options[usize::from(response == "no")].clone();
        let answer = json!({"callback_id": asked["callback_id"], "response": chosen});
        assert_eq!(ada.result("mgp/callback/respond", answer).await["accepted"], true);
        assert_eq!(ada.answer(call).await["result"]["content"][0]["text"], outcome);
    }
}

/// A client that subscribed as printed, at a kernel whose server answers as printed.
struct PrintedSubscription {
    _host: Host,
    script: Script,
    ada: Raw,
    /// The kernel's answer.
    subscribed: Value,
}

impl PrintedSubscription {
    /// Subscribes. The server sends `event` behind its answer.
    async fn new(answer: &Value, event: &Value) -> Self {
        let script = Script::named(&["works"])
            .speaking(&["bidirectional"])
            .answers("mgp/events/subscribe", &answer.to_string())
            .then("mgp/events/subscribe", &event.to_string());
        let host = Host::ready([script.server("llm")]).await;
        let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
        let params = json!({
            "channels": ["model.token_usage", "system.error"], "filter": {"min_severity": "warning"},
        });
        ada.write(&json!({"jsonrpc": "2.0", "id": 30, "method": "mgp/events/subscribe", "params": params}))
            .await;
        let subscribed = ada.answer(30).await["result"].take();
        Self { _host: host, script, ada, subscribed }
    }
}

/// The printed answer to a subscription, and the params of the printed event.
fn printed() -> (Value, Value) {
    let answer = json!({
        "subscribed": ["model.token_usage", "system.error"], "unsupported": [], "subscription_id": "sub-001",
    });
    let data = json!({"tokens_used": 1500, "tokens_remaining": 8500, "model": "llama3.1-70b"});
    let event = json!({
        "subscription_id": "sub-001", "channel": "model.token_usage", "timestamp": "2026-02-27T12:05:00.000Z",
        "data": data,
    });
    (answer, event)
}

fn event_with(params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/mgp.event", "params": params})
}

// covers: MGP-13.2-01..07
async fn a_server_that_answers_as_printed_gets_the_printed_request() {
    let (answer, event) = printed();
    let PrintedSubscription { script, subscribed, .. } =
        PrintedSubscription::new(&answer, &event_with(&event)).await;
    for member in ["subscribed", "unsupported"] {
        assert_eq!(subscribed[member], answer[member], "{subscribed}");
    }
    let asked = channels_asked_for(&script);
    assert!(
        ["model.token_usage", "system.error"].iter().all(|name| asked.contains(&json!(name))),
        "{asked:?}"
    );
}

// covers: MGP-13.3-01..05, MGP-13.5-02
async fn the_printed_event_of_a_server_comes_until_the_client_wants_no_more() {
    let (answer, printed) = printed();
    let mut scene = PrintedSubscription::new(&answer, &event_with(&printed)).await;
    let subscription = scene.subscribed["subscription_id"].clone();
    let event = scene.ada.next_notification("notifications/mgp.event").await["params"].take();
    assert_eq!(event["subscription_id"], subscription);
    for member in ["channel", "timestamp", "data"] {
        assert_eq!(event[member], printed[member], "{event}");
    }
    let params = json!({"subscription_id": subscription});
    let end = json!({"jsonrpc": "2.0", "id": 31, "method": "mgp/events/unsubscribe", "params": params});
    scene.ada.write(&end).await;
    assert_eq!(scene.ada.answer(31).await["result"]["unsubscribed"], true);
    until("the server is asked for less", || {
        (!channels_asked_for(&scene.script).contains(&json!("system.error"))).then_some(())
    })
    .await;
}

/// The channels that a server was asked for last.
fn channels_asked_for(script: &Script) -> Vec<Value> {
    let asked = script.asked();
    let last = asked.iter().rfind(|frame| frame["method"] == "mgp/events/subscribe").unwrap();
    last["params"]["channels"].as_array().unwrap().clone()
}

// covers: MGP-13.2-01, MGP-13.2-04, MGP-13.2-05, MGP-13.5-05
async fn a_server_with_channels_of_its_own_is_asked_for_those_that_clients_name() {
    let script =
        Script::named(&["emit"]).speaking(&["bidirectional"]).publishes(&["disk.full", "model.token_usage"]);
    let host = Host::ready([script.server("files"), talking::server("mail")]).await;
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    let mut bob = Raw::agent(&host, "bob", ERAS[0]).await;
    let unheard =
        ada.result("mgp/events/subscribe", json!({"channels": ["weather.*", "mail.disk.full"]})).await;
    assert_eq!(unheard["unsupported"], json!(["weather.*", "mail.disk.full"]));
    let of_ada = ada.result("mgp/events/subscribe", json!({"channels": ["disk.full", "disk.empty"]})).await;
    assert_eq!(
        (&of_ada["subscribed"], &of_ada["unsupported"]),
        (&json!(["disk.full"]), &json!(["disk.empty"]))
    );
    let of_bob =
        bob.result("mgp/events/subscribe", json!({"channels": ["files.disk.full", "model.*"]})).await;
    assert_eq!(of_bob["subscribed"], json!(["files.disk.full"]), "{of_bob}");
    for restarts in 0..2 {
        if restarts > 0 {
            host.kernel.restart("files").await.unwrap();
            until("the channels are asked for again", || {
                let asked = script.asked();
                let is_new = asked.iter().rposition(|frame| frame["method"] == "initialize")
                    < asked.iter().rposition(|frame| frame["method"] == "mgp/events/subscribe");
                is_new.then_some(())
            })
            .await;
        }
        for number in 0..20 {
            // Whoever comes and goes meanwhile takes nothing from the others, and adds nothing.
            let mut eve = Raw::agent(&host, "eve", ERAS[0]).await;
            let wish = json!({"channels": [if number % 2 == 0 { "model.token_usage" } else { "disk.full" }]});
            let of_eve = eve.send("mgp/events/subscribe", wish).await;
            ada.tool("files.emit", json!({"a": "disk.full"})).await;
            let of_eve = eve.answer(of_eve).await["result"]["subscription_id"].take();
            eve.result("mgp/events/unsubscribe", json!({"subscription_id": of_eve})).await;
        }
        for (client, channel) in [(&mut ada, "disk.full"), (&mut bob, "files.disk.full")] {
            for seq in 1..=20 {
                let event = client.next_notification("notifications/mgp.event").await["params"].take();
                assert_eq!((&event["channel"], &event["data"]), (&json!(channel), &json!({"n": seq})));
                assert_eq!(event["_mgp.seq"], restarts * 20 + seq, "{event}");
            }
            client.result("mgp/health/ping", json!({})).await;
            let is_event = |frame: &Value| frame["method"] == "notifications/mgp.event";
            assert!(!client.heard.iter().any(is_event), "{:?}", client.heard);
        }
    }
    for (client, subscribed) in [(&mut ada, of_ada), (&mut bob, of_bob)] {
        let id = json!({"subscription_id": subscribed["subscription_id"]});
        assert_eq!(client.result("mgp/events/unsubscribe", id).await["unsubscribed"], true);
    }
    until("the server is asked for nothing by name", || {
        (!channels_asked_for(&script).contains(&json!("disk.full"))).then_some(())
    })
    .await;
}

// covers: EXT-15-05, EXT-15-10, EXT-15-11
async fn a_subscription_with_a_filter_is_its_agents_own_at_the_kernel_too() {
    let mut config = quiet([talking::server("files"), talking::server("mail")]);
    config["access"] = json!({"default": "opt-out"});
    let host = Host::ready_with(config).await;
    let mut ada = Raw::declaring(&host, "ada", ERAS[0], &["subscribe_notify"]).await;
    let mut bob = Raw::declaring(&host, "bob", ERAS[0], &["subscribe_notify"]).await;
    let wish = json!({
        "subscription_id": "lives", "events": ["lifecycle"], "filter": {"server_id": "files"}, "ttl_seconds": 600,
    });
    let answer = ada.result("mgp/events/subscribe", wish).await;
    assert_eq!((&answer["status"], &answer["subscription_id"]), (&json!("active"), &json!("lives")));
    host.kernel.restart("mail").await.unwrap();
    host.up("mail").await;
    host.kernel.restart("files").await.unwrap();
    let event = ada.next_notification("notifications/mgp.event").await["params"].clone();
    assert_eq!((&event["subscription_id"], &event["seq"]), (&json!("lives"), &json!(1)), "{event}");
    assert_eq!((&event["event"], &event["payload"]["server_id"]), (&json!("lifecycle"), &json!("files")));

    // Another agent that knows the id has nothing of it.
    let id = json!({"subscription_id": "lives"});
    assert_eq!(bob.result("mgp/events/list", json!({})).await["subscriptions"], json!([]));
    assert_eq!(bob.result("mgp/events/unsubscribe", id.clone()).await["unsubscribed"], false);
    assert!(bob.error("mgp/events/replay", id.clone()).await["message"].is_string());
    let list = ada.result("mgp/events/list", json!({})).await;
    assert_eq!(list["subscriptions"][0]["subscription_id"], "lives", "{list}");
    assert!(list["supported_events"].as_array().unwrap().contains(&json!("lifecycle")), "{list}");
    assert_eq!(ada.result("mgp/events/unsubscribe", id).await["unsubscribed"], true);

    // For a client that does not declare the extension, none of this is there.
    let mut plain = Raw::plain(&host, "eve", ERAS[0]).await;
    assert_eq!(plain.error("mgp/events/list", json!({})).await["code"], -32601);
}

// covers: MGP-1.4-01
async fn mgp_is_spoken_over_each_transport_on_both_sides() {
    let offer = || Offer::new(ExtensionSet::standard());
    let server =
        || Server::new("spoken", "1.0.0").mgp(offer()).tool(Tool::new("hello", "Greets."), async || "hello");
    let (http, sse) = (Served::start("http", server()).await, Served::start("sse", server()).await);
    let (url, mut legacy) = (sse.config["url"].as_str().unwrap().replace("/mcp", "/sse"), sse.config.clone());
    (legacy["url"], legacy["transport"]) = (json!(url), json!("sse"));
    let host = Host::with(quiet([talking::server("stdio"), http.config.clone(), legacy])).await;
    for server in ["stdio", "http", "sse"] {
        host.up(server).await;
        assert!(host.view(server).mgp.is_some(), "{server}");
    }
    // Clients come in these ways; the program itself speaks over its standard input and output.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = format!("http://{}", listener.local_addr().unwrap());
    let kernel = host.kernel.clone();
    let serving = tokio::spawn(async move { kernel.serve_http(listener, std::future::pending()).await });
    let builder = || Client::builder("tests", "1.0.0").mgp(offer());
    let stream = builder().in_process(host.kernel.accept(Principal::new("ada"))).await.unwrap();
    for tool in ["http.hello", "sse.hello"] {
        assert_eq!(say(&stream, tool, json!({})).await, "hello");
    }
    let streamable = builder().connect_http(format!("{at}/mcp")).await.unwrap();
    let older = builder().connect_sse(format!("{at}/sse")).await.unwrap();
    for client in [&streamable.session(), &older.session()] {
        assert!(client.as_ref().unwrap().mgp.is_some());
    }
    assert_eq!(say(&streamable, "sse.hello", json!({})).await, "hello");
    assert_eq!(say(&older, "http.hello", json!({})).await, "hello");
    assert!(say(&older, "stdio.pid", json!({})).await.parse::<u32>().is_ok());
    serving.abort();
}
