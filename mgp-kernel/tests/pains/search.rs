//! Tools that are found, not listed.

use std::collections::BTreeMap;
use std::time::Duration;

use mgp_kernel::Kernel;
use mgp_toolindex::embed::EmbedderChoice;
use mgp_toolindex::eval::{EvalQuestion, Quality, Settings, evaluate};
use mgp_toolindex::{Index, ServerTools, ToolListing};
use mgp_types::RawJson;
use mgp_types::mgp::ShutdownReason;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::host::{Host, Plain, STATE, ask, found, names, quiet, read, say, start_when_free};
use crate::runner::tests;
use crate::scripted::Script;

tests![
    pain_12_tools_are_found_through_the_kernel_as_well_as_by_the_index,
    a_search_learns_from_calls_unless_it_is_not_to,
    what_was_learned_survives_a_restart_until_it_is_forgotten,
    an_embedder_that_this_build_lacks_is_refused,
];

const TOOLS: &str = include_str!("../../../mgp-toolindex/data/tools.jsonl");
const QUESTIONS: &str = include_str!("../../../mgp-toolindex/data/questions.jsonl");

/// The servers of the set: what each is for, and its tools.
fn servers() -> BTreeMap<String, (String, Vec<Value>)> {
    let mut servers = BTreeMap::<_, (String, Vec<Value>)>::new();
    for line in TOOLS.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let server = servers.entry(text("server")).or_insert_with(|| (text("serverDescription"), Vec::new()));
        server.1.push(json!({
            "name": row["name"], "description": row["description"], "inputSchema": row["inputSchema"],
        }));
    }
    servers
}

/// R@5 of the index alone.
async fn of_the_index(questions: &[EvalQuestion]) -> f64 {
    let index = Index::new(EmbedderChoice::Static.open().await);
    for (server, (description, tools)) in servers() {
        let listing = |tool: &Value| ToolListing::read(&RawJson::from_value(tool).unwrap()).unwrap();
        let tools = tools.iter().map(listing).collect();
        index.put_server(ServerTools::new(server.as_str(), tools).description(description)).await;
    }
    index.embedded().await;
    evaluate(&index, questions, Settings::new("index")).await.quality.recall_5
}

async fn discover(client: &Plain, query: &str) -> Value {
    let params = json!({"name": "mgp.tools.discover", "arguments": {"query": query, "max_results": 5}});
    ask(client, "tools/call", params).await["structuredContent"].clone()
}

async fn pain_12_tools_are_found_through_the_kernel_as_well_as_by_the_index() {
    let servers = servers();
    let scripts: Vec<_> = servers
        .iter()
        .map(|(id, (description, tools))| {
            let script = Script::new(&json!(tools).to_string());
            let mut server = script.server(id);
            server["description"] = json!(description);
            (id.clone(), script, server)
        })
        .collect();
    let mut config = quiet(scripts.iter().map(|(.., server)| server.clone()));
    config["tools"] = json!({"level": "L3"});
    let host = Host::with(config).await;
    for (id, ..) in &scripts {
        host.up(id).await;
    }
    let client = host.plain("one").await;
    let total: usize = servers.values().map(|(_, tools)| tools.len()).sum();
    let began = Instant::now();
    // None of the tools is taken for dangerous by mistake. They are searched a moment after they are listed.
    while discover(&client, "anything").await["total_available"] != json!(total) {
        assert!(began.elapsed() < Duration::from_secs(20), "some of {total} tools are not there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Of all the tools nothing is listed but how to find them.
    let listed = names(&host.plain("other").await).await;
    assert!(listed.len() <= 4 && listed.contains(&"mgp_tools_discover".to_owned()), "{listed:?}");

    let questions = EvalQuestion::read_all(QUESTIONS.as_bytes()).unwrap();
    let mut judged = Vec::new();
    for question in &questions {
        let found = discover(&client, &question.text).await;
        let name = |tool: &Value| tool["name"].as_str().unwrap().replacen("__", ".", 1);
        let ranking: Vec<String> = found["tools"].as_array().unwrap().iter().map(name).collect();
        judged.push(Quality::of(&ranking, &question.needs));
    }
    let (through, alone) = (Quality::mean(&judged).recall_5, of_the_index(&questions).await);
    println!("R@5 is {through:.3} through the kernel, {alone:.3} of the index alone");
    assert!((through - alone).abs() < 0.01, "{through} {alone}");
    assert!(through > 0.7, "{through}");
}

/// The query by which agents find the one tool of [`post`], in other words than its own.
const PRESENTS: &str = "a box of christmas presents";

fn post() -> Script {
    Script::new(
        r#"[{"name":"ship_parcel","description":"Sends a box of things","inputSchema":{"type":"object"}}]"#,
    )
}

async fn relevance(client: &Plain) -> f64 {
    let params = json!({"query": PRESENTS, "strategy": "semantic"});
    ask(client, "mgp/tools/discover", params).await["tools"][0]["relevance_score"].as_f64().unwrap()
}

/// Lets an agent find the tool and call it, in some sessions.
async fn teach(host: &Host, agent: &str) {
    for _ in 0..5 {
        let client = host.client(agent).await;
        relevance(&client).await;
        say(&client, "post.ship_parcel", json!({})).await;
    }
}

async fn a_search_learns_from_calls_unless_it_is_not_to() {
    for (learning, learns) in [(None, true), (Some(true), true), (Some(false), false)] {
        let script = post();
        let mut config = quiet([script.server("post")]);
        if let Some(learning) = learning {
            config["tools"]["learning"] = json!(learning);
        }
        let host = Host::with(config).await;
        host.up("post").await;
        let (ada, bob) = (host.client("ada").await, host.client("bob").await);
        found(&ada, PRESENTS, "post.ship_parcel").await;
        let before = relevance(&ada).await;
        teach(&host, "ada").await;
        let after = relevance(&ada).await;
        assert_eq!(after > before, learns, "{before} {after}");
        let of_bob = relevance(&bob).await;
        assert!((of_bob - before).abs() < 1e-6, "one agent learned from another: {before} {of_bob}");
    }
}

async fn what_was_learned_survives_a_restart_until_it_is_forgotten() {
    let script = post();
    let config = quiet([script.server("post")]);
    let host = Host::with(config.clone()).await;
    host.up("post").await;
    let ada = host.client("ada").await;
    found(&ada, PRESENTS, "post.ship_parcel").await;
    let before = relevance(&ada).await;
    teach(&host, "ada").await;
    let after = relevance(&ada).await;
    assert!(after > before, "{before} {after}");
    ada.close().await.unwrap();
    let Host { kernel, folder } = host;
    kernel.shutdown(ShutdownReason::OperatorRequest, Duration::from_secs(5)).await;
    drop(kernel);
    let state = folder.path().join(STATE);
    let host = Host { kernel: start_when_free(&read(config), &state).await, folder };
    host.up("post").await;
    let ada = host.client("ada").await;
    found(&ada, PRESENTS, "post.ship_parcel").await;
    let again = relevance(&ada).await;
    assert!((again - after).abs() < 0.01, "{before} {after} {again}");

    let refused = ada.request("kernel/tools/forget", json!({})).await.unwrap_err();
    assert_eq!(refused.code(), -32601, "{refused:?}");
    let operator = host.operator().await;
    for (tool, count) in [("post.stamp", 0), ("post.ship_parcel", 1)] {
        let forgotten = ask(&operator, "kernel/tools/forget", json!({"name": tool})).await;
        assert_eq!((&forgotten["tools"], &forgotten["agents"]), (&json!(count), &json!(count)), "{tool}");
    }
    let last = relevance(&ada).await;
    assert!((last - before).abs() < 1e-6, "{before} {last}");
    assert_eq!(std::fs::read_dir(state.join("learned")).unwrap().count(), 0);
}

async fn an_embedder_that_this_build_lacks_is_refused() {
    let state = tempfile::tempdir().unwrap();
    for (embedder, feature, is_here) in [
        ("fastembed:/no/such/folder", "fastembed", cfg!(feature = "fastembed")),
        ("remote:http://127.0.0.1:9/v1#small", "http", cfg!(feature = "http")),
    ] {
        let mut config = quiet([]);
        config["tools"]["embedder"] = json!(embedder);
        let started = Kernel::start(read(config), state.path().join(feature)).await;
        match started {
            Ok(_) => assert!(is_here, "{embedder}"),
            Err(error) => {
                assert!(!is_here && error.to_string().contains(&format!("--features {feature}")), "{error}");
            }
        }
    }
}
