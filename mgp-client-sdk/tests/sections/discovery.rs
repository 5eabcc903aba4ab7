//! Tools that are searched instead of listed (§16).

use mgp_client_sdk::{Change, Client};
use mgp_types::mcp::{CallToolResult, SubscriptionFilter};
use mgp_types::mgp::{
    DiscoverTools, DiscoveredTools, EvictTools, ExtensionSet, Offer, RequestTools, SearchStrategy,
    ToolFilter, ToolRequestStatus,
};
use mgp_types::{BoxedService, Revision, code};
use serde_json::{Value, json};

use crate::host::{Host, plain_builder, text};
use crate::leg::{Connected, Leg};
use crate::many::{BUDGET, COUNT};
use crate::raw::Raw;
use crate::runner::tests;
use crate::server::Kind;

tests![
    a_found_tool_is_called_at_once_and_listed_from_then_on,
    every_way_to_search_finds,
    tools_are_loaded_for_what_a_task_needs,
    a_plain_client_finds_by_a_tool,
    a_plain_client_is_told_of_a_list_that_changed,
    the_budget_holds_however_many_tools_are_used,
    clients_of_one_server_have_tools_of_their_own if Leg::is_shared,
    what_is_found_can_be_called_whatever_it_takes_and_gives,
    a_plain_client_repeats_in_headers_what_a_found_tool_wants_there,
    answers_are_as_the_era_has_them if Leg::is_memory,
];

async fn open(leg: Leg) -> (Host, Connected) {
    let mut host = leg.host(Kind::Many).await;
    let client = host.client(plain_builder().mgp(offer())).await;
    (host, client)
}

async fn open_plain(leg: Leg) -> (Host, Connected) {
    let mut host = leg.host(Kind::Many).await;
    let client = host.client(plain_builder()).await;
    (host, client)
}

fn offer() -> Offer {
    Offer::new(ExtensionSet::from_names(["tool_discovery"]))
}

async fn listed(client: &Client<BoxedService>) -> Vec<String> {
    client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}

async fn find(client: &Client<BoxedService>, query: &str) -> Vec<String> {
    let found = client.discover_tools(&DiscoverTools::new(query)).await.unwrap();
    found.tools.into_iter().map(|tool| tool.name).collect()
}

/// Returns the text of a meta-tool's result.
fn said(result: &CallToolResult) -> Value {
    serde_json::from_str(text(result)).unwrap()
}

// covers: MGP-16.5-01, MGP-16.5-08..12, MGP-16.5-18, MGP-16.5-19
async fn a_found_tool_is_called_at_once_and_listed_from_then_on(leg: Leg) {
    let (_host, client) = open(leg).await;
    let meta_tools = ["mgp/tools/discover", "mgp/tools/call", "mgp/tools/request"];
    assert_eq!(listed(&client).await, meta_tools);

    let found = client.discover_tools(&DiscoverTools::new("rename playlist").max_results(1)).await.unwrap();
    assert_eq!((found.total_available, found.tools.len()), (COUNT as u64, 1));
    assert_eq!(found.tools[0].name, "rename_playlist");
    let with_it = [meta_tools[0], meta_tools[1], meta_tools[2], "rename_playlist"];
    assert_eq!(listed(&client).await, with_it);
    assert_eq!(found.tools[0].server_id.as_str(), "many");
    assert!(String::from_utf8_lossy(found.tools[0].input_schema.as_bytes()).contains("The id of the item."));

    let renamed = client.call_tool(&found.tools[0].name, json!({ "id": "7" })).await.unwrap();
    assert_eq!(text(&renamed), "rename playlist 7");
    assert_eq!(listed(&client).await, with_it);
    let session = client.tool_session().await.unwrap();
    assert_eq!(session.cached, ["rename_playlist"]);
    assert_eq!(session.max_tokens, u64::from(BUDGET));

    let evict = EvictTools::new(["rename_playlist", "nothing"]);
    let evicted = client.evict_tools(&evict).await.unwrap();
    assert_eq!(
        (evicted.evicted, evicted.not_found),
        (vec!["rename_playlist".into()], vec!["nothing".into()])
    );
    assert!(evicted.total_tokens < session.total_tokens);
    assert_eq!(listed(&client).await, meta_tools);
}

// covers: MGP-16.5-02..04, MGP-16.5-06
async fn every_way_to_search_finds(leg: Leg) {
    let (_host, client) = open(leg).await;
    for strategy in [SearchStrategy::Keyword, SearchStrategy::Semantic, SearchStrategy::Hybrid] {
        let wanted = DiscoverTools::new("export the spreadsheet").strategy(strategy);
        let found = client.discover_tools(&wanted).await.unwrap();
        assert_eq!(found.tools[0].name, "export_spreadsheet", "{strategy}");
        assert!(found.fallback_strategy.is_none() && found.search_strategy == strategy);
    }
    let browsed = DiscoverTools::new("many").strategy(SearchStrategy::Category).max_results(50);
    let browsed = client.discover_tools(&browsed).await.unwrap();
    assert!(!browsed.tools.is_empty() && browsed.omitted > 0, "{browsed:?}");

    let mut filter = ToolFilter::default();
    filter.risk_level_max = Some(mgp_types::mgp::RiskLevel::Moderate);
    let mild = DiscoverTools::new("demolish a building").filter(filter);
    let mild = client.discover_tools(&mild).await.unwrap();
    assert!(mild.tools.iter().all(|tool| tool.name != "demolish"));
    assert_eq!(find(&client, "demolish a building").await[0], "demolish");
    let error = client.discover_tools(&DiscoverTools::new("")).await.unwrap_err();
    assert_eq!(error.code(), code::INVALID_PARAMS);
}

// covers: MGP-16.6-01, MGP-16.6-04, MGP-16.6-09..13, MGP-16.6-15
async fn tools_are_loaded_for_what_a_task_needs(leg: Leg) {
    let (_host, client) = open(leg).await;
    let wanted = RequestTools::new(["archive_contract", "rename_photo", "translate_hieroglyphs"]);
    let loaded = client.request_tools(&wanted).await.unwrap();
    assert_eq!(loaded.status, ToolRequestStatus::Partial, "{loaded:?}");
    let names: Vec<_> = loaded.tools_loaded.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["archive_contract", "rename_photo"]);
    assert_eq!(loaded.tools_unavailable, ["translate_hieroglyphs"]);
    assert_eq!(loaded.session_tools_count, 2);
    assert!(loaded.context_tokens_added > 0);
    assert_eq!(listed(&client).await[3..], ["archive_contract", "rename_photo"]);
    let renamed = client.call_tool("rename_photo", json!({ "id": "x" })).await.unwrap();
    assert_eq!(text(&renamed), "rename photo x");
}

// covers: MGP-16.5-19
async fn a_plain_client_finds_by_a_tool(leg: Leg) {
    let (_host, client) = open_plain(leg).await;
    let meta_tools = ["mgp_tools_discover", "mgp_tools_call", "mgp_tools_request"];
    assert_eq!(listed(&client).await, meta_tools);
    let error = client.discover_tools(&DiscoverTools::new("archive ticket")).await.unwrap_err();
    assert_eq!(error.code(), code::METHOD_NOT_FOUND);

    let arguments = json!({ "query": "archive ticket", "max_results": 1 });
    let result = client.call_tool("mgp_tools_discover", arguments).await.unwrap();
    let found = said(&result);
    assert_eq!(found["tools"][0]["name"], "archive_ticket");
    if leg.revision >= Revision::V2025_06_18 {
        let same: DiscoveredTools = result.structured_content.as_ref().unwrap().to().unwrap();
        assert_eq!(same.tools[0].name, "archive_ticket");
    }
    let arguments = json!({ "name": "archive_ticket", "arguments": { "id": "1" } });
    let archived = client.call_tool("mgp_tools_call", arguments).await.unwrap();
    assert_eq!(text(&archived), "archive ticket 1");
    assert_eq!(listed(&client).await[3..], ["archive_ticket"]);

    let wrong = client.call_tool("mgp.tools.discover", json!({ "query": 7 })).await.unwrap();
    assert_eq!(wrong.is_error, Some(true));
    assert!(text(&wrong).contains("`query`"));
    let evict = json!({ "tools": ["archive_ticket"] });
    let evicted = said(&client.call_tool("mgp.tools.session.evict", evict).await.unwrap());
    assert_eq!(evicted["evicted"], json!(["archive_ticket"]));
    assert_eq!(listed(&client).await, meta_tools);
}

async fn a_plain_client_is_told_of_a_list_that_changed(leg: Leg) {
    let (_host, client) = open_plain(leg).await;
    let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    let mut changes = client.subscribe(filter).await.unwrap();
    assert_eq!(listed(&client).await.len(), 3);
    client.call_tool("share_recipe", json!({ "id": "1" })).await.unwrap();
    assert_eq!(changes.next().await.unwrap().unwrap(), Change::Tools);
    assert_eq!(listed(&client).await[3..], ["share_recipe"]);

    let evict = json!({ "tools": ["share_recipe"] });
    client.call_tool("mgp_tools_session_evict", evict).await.unwrap();
    assert_eq!(changes.next().await.unwrap().unwrap(), Change::Tools);
    assert_eq!(listed(&client).await.len(), 3);
}

// covers: MGP-16.8-01
async fn the_budget_holds_however_many_tools_are_used(leg: Leg) {
    let (_host, client) = open(leg).await;
    let browsed = DiscoverTools::new("many").strategy(SearchStrategy::Category).max_results(50);
    let mut most = 0;
    for noun in ["invoice", "calendar", "contract", "playlist", "recipe", "ticket", "photo", "vehicle"] {
        for verb in ["create", "share", "export"] {
            client.call_tool(&format!("{verb}_{noun}"), json!({ "id": "1" })).await.unwrap();
        }
        client.discover_tools(&browsed).await.unwrap();
        let session = client.tool_session().await.unwrap();
        assert!(session.total_tokens <= session.max_tokens, "{session:?}");
        assert!(session.cached.contains(&format!("export_{noun}")), "{session:?}");
        most = most.max(session.cached.len());
    }
    let list = listed(&client).await;
    assert!(list.len() < 24 && most < 24, "{list:?}");
}

async fn clients_of_one_server_have_tools_of_their_own(leg: Leg) {
    let mut host = leg.host(Kind::Many).await;
    let one = host.client(plain_builder().mgp(offer())).await;
    let other = host.client(plain_builder()).await;
    for _ in 0..3 {
        one.call_tool("delete_photo", json!({ "id": "1" })).await.unwrap();
        other.call_tool("delete_vehicle", json!({ "id": "1" })).await.unwrap();
    }
    assert_eq!(one.tool_session().await.unwrap().cached, ["delete_photo"]);
    assert_eq!(listed(&other).await[3..], ["delete_vehicle"]);
}

async fn what_is_found_can_be_called_whatever_it_takes_and_gives(leg: Leg) {
    let (_host, client) = open(leg).await;
    let weigh = find(&client, "how heavy is the parcel, weigh it").await.remove(0);
    assert_eq!(weigh, "post/parcel.weigh");
    let weight = client.call_tool(&weigh, json!({ "parcel": "a" })).await.unwrap();
    assert_eq!(said(&weight)["kilograms"], 2.5);
    let missing = client.call_tool("post/parcel.weigh", json!({})).await.unwrap();
    assert_eq!(missing.is_error, Some(true), "{missing:?}");

    let forecast = find(&client, "weather of tomorrow").await.remove(0);
    let rain = client.call_tool(&forecast, json!({ "region": "Kyoto" })).await.unwrap();
    assert_eq!(text(&rain), "rain in Kyoto");
    let list = listed(&client).await;
    assert!([weigh, forecast].iter().all(|name| list.contains(name)), "{list:?}");
}

async fn a_plain_client_repeats_in_headers_what_a_found_tool_wants_there(leg: Leg) {
    let (_host, client) = open_plain(leg).await;
    let found =
        client.call_tool("mgp_tools_discover", json!({ "query": "weather of tomorrow" })).await.unwrap();
    assert_eq!(said(&found)["tools"][0]["name"], "forecast");
    let arguments = json!({ "region": "Kyoto" });
    let rain = client.call_tool("forecast", arguments.clone()).await.unwrap();
    assert_eq!(text(&rain), "rain in Kyoto");
    // Nobody can know that of a tool that was never listed.
    let unlisted = json!({ "name": "forecast", "arguments": arguments });
    assert_eq!(text(&client.call_tool("mgp_tools_call", unlisted).await.unwrap()), "rain in Kyoto");
}

async fn answers_are_as_the_era_has_them(leg: Leg) {
    let mut raw = Raw::open(leg, Kind::Many, &["tool_discovery"]).await;
    let complete = if leg.is_stateless() { json!("complete") } else { Value::Null };
    raw.ask("list", "tools/list", json!({})).await;
    let list = raw.answer("list").await["result"].clone();
    assert_eq!(list["resultType"], complete);
    assert!(list.get("nextCursor").is_none() && list["tools"][0]["inputSchema"]["type"] == "object");
    let private = if leg.is_stateless() { json!("private") } else { Value::Null };
    assert_eq!((&list["cacheScope"], list["tools"][0].get("outputSchema")), (&private, None));
    raw.ask("find", "mgp/tools/discover", json!({ "query": "rename ticket" })).await;
    let found = raw.answer("find").await["result"].clone();
    assert_eq!((&found["resultType"], &found["tools"][0]["name"]), (&complete, &json!("rename_ticket")));
    raw.call("call", "mgp/tools/discover", json!({ "query": "rename ticket" }), Value::Null).await;
    let called = raw.answer("call").await["result"].clone();
    assert_eq!(called["resultType"], complete);
    assert_eq!(called["structuredContent"]["tools"], found["tools"]);
    raw.ask("page", "tools/list", json!({ "cursor": "2" })).await;
    assert_eq!(raw.answer("page").await["error"]["code"], code::INVALID_PARAMS);
}
