//! Tools that are found, not listed.

use std::collections::BTreeMap;

use mgp_kernel::Kernel;
use mgp_toolindex::embed::EmbedderChoice;
use mgp_toolindex::rows::read_rows;
use mgp_toolindex::{Index, ServerTools, ToolListing};
use mgp_types::RawJson;
use mgp_types::mgp::SearchStrategy;
use serde_json::{Value, json};

use crate::evaluation::{EvalQuestion, Quality, evaluate};
use crate::host::{Host, Plain, ask, names, quiet, read, until_found};
use crate::runner::tests;
use crate::scripted::Script;

tests![
    tools_are_found_through_the_kernel_as_well_as_by_the_index,
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
    evaluate(&index, questions, "index", SearchStrategy::Hybrid, 5).await.quality.recall_5
}

async fn discover(client: &Plain, query: &str) -> Value {
    let params = json!({"name": "mgp.tools.discover", "arguments": {"query": query, "max_results": 5}});
    ask(client, "tools/call", params).await["structuredContent"].clone()
}

async fn tools_are_found_through_the_kernel_as_well_as_by_the_index() {
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
    let host = Host::ready_with(config).await;
    let client = host.plain("one").await;
    let total: usize = servers.values().map(|(_, tools)| tools.len()).sum();
    // None of the tools is taken for dangerous by mistake. They are searched a moment after they are listed.
    until_found("all tools are searched", async || {
        (discover(&client, "anything").await["total_available"] == json!(total)).then_some(())
    })
    .await;
    // Of all the tools nothing is listed but how to find them.
    let listed = names(&host.plain("other").await).await;
    assert!(listed.len() <= 4 && listed.contains(&"mgp_tools_discover".to_owned()), "{listed:?}");

    let questions: Vec<EvalQuestion> = read_rows(QUESTIONS.as_bytes()).unwrap();
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

async fn an_embedder_that_this_build_lacks_is_refused() {
    let state = tempfile::tempdir().unwrap();
    let mut config = quiet([]);
    config["tools"]["embedder"] = json!("fastembed:/no/such/folder");
    let is_built = cfg!(feature = "fastembed");
    match Kernel::start(read(config), state.path().to_owned()).await {
        Ok(_) => assert!(is_built),
        Err(error) => assert!(!is_built && error.to_string().contains("--features fastembed"), "{error}"),
    }
}
