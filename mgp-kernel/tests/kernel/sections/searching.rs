//! The index of tools, and searches in it (§16.2 to §16.5).

use mgp_toolindex::embed::EmbedderChoice;
use serde_json::{Value, json};

use super::raw::{ERAS, Raw};
use crate::host::{Host, quiet, read, speaking_mgp, typed, until_found};
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![
    a_tool_is_found_by_each_field_of_its_entry,
    each_strategy_finds_in_its_own_way,
    a_search_is_answered_with_all_that_a_call_needs,
    each_word_of_a_search_is_obeyed,
    a_model_gets_one_tool_finds_the_others_by_it_and_calls_them_at_once,
];

fn tool(name: &str, description: &str, security: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    defined(name, &[], &json!({"description": description, "inputSchema": schema, "security": security}))
}

fn hinted(mut tool: Value, hints: &Value) -> Value {
    tool["_meta"] = json!({"dev.cloto/mgp/index": hints});
    tool
}

/// Servers of an office.
struct Office {
    host: Host,
    scripts: Vec<Script>,
    config: Value,
}

impl Office {
    async fn open(change: impl FnOnce(&mut Value)) -> Self {
        let safe = json!({"risk_level": "safe"});
        let sending = json!({"risk_level": "moderate", "permissions_required": ["network.outbound"]});
        let servers = [
            (
                "travel",
                vec![
                    tool("convert_currency", "Converts an amount of money into another currency.", &safe),
                    tool("book_hotel", "Reserves a room in a hotel.", &safe),
                    tool("get_forecast", "Says what the weather will be.", &safe),
                ],
            ),
            (
                "post",
                vec![
                    hinted(
                        tool("dispatch", "Sends a parcel.", &sending),
                        &json!({"categories": ["logistics/outbound"], "keywords": ["zeppelin"]}),
                    ),
                    hinted(
                        tool("weigh", "Says how heavy it is.", &safe),
                        &json!({"categories": ["logistics/scales"]}),
                    ),
                ],
            ),
            ("taxi", vec![tool("dispatch", "Calls a cab.", &safe)]),
        ];
        let mut scripts = Vec::new();
        let mut configured = Vec::new();
        for (id, tools) in servers {
            let script = Script::of(tools).speaking(&["security"]);
            let mut server = script.server(id);
            server["security"] = json!({"trust_level": "trusted"});
            configured.push(server);
            scripts.push(script);
        }
        let mut config = quiet(configured);
        change(&mut config);
        let host = Host::ready_with(config.clone()).await;
        let office = Self { host, scripts, config };
        let mut ada = Raw::agent(&office.host, "ada", ERAS[0]).await;
        indexed(&mut ada, 6).await;
        office
    }
}

/// Waits until so many tools are searched: that is a moment after they are listed.
pub(super) async fn indexed(client: &mut Raw, tools: u64) {
    until_found("all tools are searched", async || {
        (discover(client, json!({"query": "anything"})).await["total_available"] == tools).then_some(())
    })
    .await;
}

async fn discover(client: &mut Raw, params: Value) -> Value {
    client.result("mgp/tools/discover", params).await
}

/// The names of what a search finds, the best first.
async fn found(client: &mut Raw, params: Value) -> Vec<String> {
    let found = discover(client, params).await;
    let tools = found["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

// covers: MGP-16.4-01..09
async fn a_tool_is_found_by_each_field_of_its_entry() {
    // A vector that says what no word of its tool does.
    let embedder = EmbedderChoice::Static.open().await;
    let vector = embedder.embed(vec!["a rocket flies to the moon".to_owned()]).await.unwrap();
    let lunar = hinted(
        tool("xqz", "Xqz.", &json!({"risk_level": "safe"})),
        &json!({"embedding": vector[0], "embedder": embedder.id()}),
    );
    let sending = Script::of([lunar]);
    let office = Office::open(|_| {}).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&office.host, "ada", revision).await;
        let mut first = async |query: &str| {
            let found = found(&mut ada, json!({"query": query, "strategy": "keyword"})).await;
            found.into_iter().next().unwrap_or_default()
        };
        for (field, query, expected) in [
            ("tool_id", "taxi.dispatch", "taxi.dispatch"),
            ("server_id", "taxi", "taxi.dispatch"),
            ("name", "book_hotel", "travel.book_hotel"),
            ("description", "parcel", "post.dispatch"),
            ("keywords", "zeppelin", "post.dispatch"),
        ] {
            assert_eq!(first(query).await, expected, "{field}");
        }
        let logistics =
            json!({"query": "it", "filter": {"categories": ["logistics"]}, "strategy": "semantic"});
        let mut of_category = found(&mut ada, logistics).await;
        of_category.sort();
        assert_eq!(of_category, ["post.dispatch", "post.weigh"], "categories");
        let dispatch = discover(&mut ada, json!({"query": "post.dispatch", "strategy": "keyword"})).await;
        let security = &dispatch["tools"][0]["security"];
        assert_eq!(security["risk_level"], "moderate");
        assert_eq!(security["permissions_required"], json!(["network.outbound"]));
    }
    // What connects is searched, and what is gone is not.
    let mut ada = Raw::agent(&office.host, "ada", ERAS[0]).await;
    let mut config = office.config.clone();
    let mut server = sending.server("lunar");
    server["security"] = json!({"trust_level": "trusted"});
    config["servers"] = json!([config["servers"][0], server]);
    office.host.kernel.reload(read(config)).await.unwrap();
    indexed(&mut ada, 4).await;
    let moon = json!({"query": "a flight to the moon in a rocket", "strategy": "semantic", "max_results": 1});
    assert_eq!(found(&mut ada, moon).await, ["lunar.xqz"]);
    assert!(found(&mut ada, json!({"query": "parcel", "strategy": "keyword"})).await.is_empty());
}

// covers: MGP-16.4-10..12, MGP-16.5-16
async fn each_strategy_finds_in_its_own_way() {
    let office = Office::open(|_| {}).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&office.host, "ada", revision).await;
        for (strategy, query, expected) in [
            ("keyword", "convert_currency", &["travel.convert_currency"][..]),
            ("keyword", "covnert_currency", &["travel.convert_currency"]),
            ("keyword", "converting currencies", &["travel.convert_currency"]),
            // It shares no word with the tool.
            ("keyword", "will it rain tomorrow", &[]),
            ("semantic", "will it rain tomorrow", &["travel.get_forecast"]),
            ("semantic", "accommodation for three nights", &["travel.book_hotel"]),
            ("category", "logistics/outbound", &["post.dispatch"]),
            ("category", "logistics/scales", &["post.weigh"]),
        ] {
            let found = discover(&mut ada, json!({"query": query, "strategy": strategy})).await;
            assert_eq!(found["search_strategy"], strategy);
            let tools = found["tools"].as_array().unwrap();
            let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).take(1).collect();
            assert_eq!(names, expected, "{strategy} {query}");
        }
        let mut below = found(&mut ada, json!({"query": "logistics", "strategy": "category"})).await;
        below.sort();
        assert_eq!(below, ["post.dispatch", "post.weigh"], "a category has those below it");
    }
}

// covers: MGP-16.5-01, MGP-16.5-08..15, MGP-16.5-17
async fn a_search_is_answered_with_all_that_a_call_needs() {
    let office = Office::open(|_| {}).await;
    for revision in ERAS {
        let mut ada = Raw::agent(&office.host, "ada", revision).await;
        let found = discover(&mut ada, json!({"query": "parcel dispatch", "strategy": "keyword"})).await;
        let first = &found["tools"][0];
        assert_eq!((&first["name"], &first["server_id"]), (&json!("post.dispatch"), &json!("post")));
        assert_eq!(first["description"], "Sends a parcel.");
        let listed = tool("dispatch", "", &Value::Null);
        assert_eq!(first["inputSchema"], listed["inputSchema"]);
        let security = json!({"risk_level": "moderate", "permissions_required": ["network.outbound"]});
        assert_eq!(first["security"], security);
        let tools = found["tools"].as_array().unwrap();
        let scores: Vec<_> = tools.iter().map(|tool| tool["relevance_score"].as_f64().unwrap()).collect();
        assert!(scores.len() > 1 && scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
        assert_eq!(found["total_available"], 6);
        assert!(found["query_time_ms"].as_f64().unwrap() >= 0.0);
    }
}

// covers: MGP-16.5-02..07
async fn each_word_of_a_search_is_obeyed() {
    let office = Office::open(|_| {}).await;
    for revision in ERAS {
        let client = office.host.connect("ada", speaking_mgp().revisions([revision])).await;
        for (more, expected) in [
            (json!({}), &["post.dispatch", "taxi.dispatch"][..]),
            (json!({"max_results": 1}), &["post.dispatch"]),
            (json!({"filter": {"categories": ["logistics"]}}), &["post.dispatch"]),
            (json!({"filter": {"risk_level_max": "safe"}}), &["taxi.dispatch"]),
            (json!({"filter": {"status": "connected"}}), &["post.dispatch", "taxi.dispatch"]),
            (json!({"filter": {"status": "error"}}), &[]),
        ] {
            let mut params = json!({"query": "dispatch a parcel", "strategy": "keyword"});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let found = client.discover_tools(&typed(&params)).await.unwrap();
            let names: Vec<_> = found.tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names, expected, "{more}");
        }
        for strategy in ["keyword", "semantic", "category"] {
            let params = typed(&json!({"query": "logistics", "strategy": strategy}));
            let found = client.discover_tools(&params).await.unwrap();
            assert_eq!(found.search_strategy.as_str(), strategy);
        }
        let mut ada = Raw::agent(&office.host, "ada", revision).await;
        for wrong in [
            json!({}),
            json!({"query": 7}),
            json!({"query": "x", "strategy": "magic"}),
            json!({"query": "x", "max_results": "many"}),
            json!({"query": "x", "filter": {"risk_level_max": "harmless"}}),
            json!({"query": "x", "filter": {"status": "any"}}),
        ] {
            let error = ada.error("mgp/tools/discover", wrong.clone()).await;
            assert_eq!(error["code"], -32602, "{wrong}: {error}");
        }
    }
}

// covers: MGP-16.1-01, MGP-16.2-02, MGP-16.2-03, MGP-16.3-03, MGP-16.5-18, MGP-16.5-19, ENV-10-03
async fn a_model_gets_one_tool_finds_the_others_by_it_and_calls_them_at_once() {
    let office = Office::open(|config| config["tools"] = json!({"level": "L2"})).await;
    for revision in ERAS {
        for (agent, discover) in [("ada", "mgp/tools/discover"), ("plain", "mgp_tools_discover")] {
            let mut client = match agent {
                "plain" => Raw::plain(&office.host, agent, revision).await,
                _ => Raw::agent(&office.host, agent, revision).await,
            };
            let listed = client.result("tools/list", json!({})).await;
            let names: Vec<_> =
                listed["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
            assert!(names.contains(&&json!(discover)) && names.len() <= 3, "{names:?}");
            assert!(!listed.to_string().contains("forecast"));

            let result = client.tool(discover, json!({"query": "will it rain tomorrow"})).await;
            let found = &result["structuredContent"]["tools"][0];
            let said: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
            assert_eq!(said["tools"][0], *found, "the model reads the same");
            let name = found["name"].as_str().unwrap();
            assert!(name.ends_with("get_forecast"), "{found}");
            assert_eq!(found["inputSchema"]["required"], json!(["a"]), "nothing else has to be asked");
            let before = office.scripts[0].calls().len();
            client.tool(name, json!({"a": "tomorrow"})).await;
            assert_eq!(office.scripts[0].calls().len(), before + 1);
        }
    }
}
