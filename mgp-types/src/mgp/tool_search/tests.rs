use serde_json::json;

use super::*;

// covers: MGP-16.5-02, MGP-16.5-03, MGP-16.5-04, MGP-16.5-05, MGP-16.5-06, MGP-16.5-07
#[test]
fn a_search_is_read_and_written_as_in_the_specification() {
    let wire = json!({
        "query": "read file contents from disk",
        "strategy": "semantic",
        "max_results": 5,
        "filter": { "categories": ["filesystem"], "risk_level_max": "moderate", "status": "connected" }
    });
    let search: DiscoverTools = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(search.strategy, Some(SearchStrategy::Semantic));
    assert_eq!(search.filter.risk_level_max, Some(RiskLevel::Moderate));
    assert_eq!(search.filter.status, Some(ServerState::Connected));
    assert_eq!(serde_json::to_value(&search).unwrap(), wire);

    let bare: DiscoverTools = serde_json::from_value(json!({ "query": "x" })).unwrap();
    assert_eq!((bare.strategy, bare.max_results, bare.filter.is_empty()), (None, None, true));
    assert_eq!(serde_json::to_value(bare).unwrap(), json!({ "query": "x" }));
}

#[test]
fn a_filter_that_is_not_understood_is_refused_instead_of_letting_more_pass() {
    for (member, word) in [("risk_level_max", "mild"), ("status", "alive")] {
        let asked = json!({ "query": "x", "filter": { member: word } });
        let error = serde_json::from_value::<DiscoverTools>(asked).unwrap_err();
        assert!(error.to_string().contains("unknown"), "{member}: {error}");
    }
    assert!(serde_json::from_value::<DiscoverTools>(json!({ "query": "x", "strategy": "magic" })).is_err());
}

// covers: MGP-16.5-08, MGP-16.5-09, MGP-16.5-10, MGP-16.5-11, MGP-16.5-13, MGP-16.5-14
#[test]
fn found_tools_are_read_and_written_as_in_the_specification() {
    let wire = json!({
        "tools": [{
            "name": "read_file",
            "server_id": "tool.terminal",
            "description": "Read the contents of a file at the given path",
            "relevance_score": 0.75,
            "inputSchema": {
                "type": "object",
                "properties": { "path": { "type": "string", "description": "File path to read" } },
                "required": ["path"]
            },
            "security": {
                "risk_level": "moderate", "permissions_required": ["filesystem.read"], "validator": "sandbox"
            }
        }],
        "total_available": 47,
        "search_strategy": "semantic",
        "query_time_ms": 12.0
    });
    let found: DiscoveredTools = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(found.tools[0].server_id, ServerId::from("tool.terminal"));
    assert_eq!(serde_json::to_value(found).unwrap(), wire);
}

// covers: MGP-16.4-02..09
#[test]
fn an_entry_of_the_index_has_the_members_of_the_specification() {
    let wire = json!({
        "tool_id": "filesystem.read_file",
        "server_id": "tool.terminal",
        "name": "read_file",
        "description": "Read the contents of a file at the given path",
        "categories": ["filesystem", "read"],
        "keywords": ["file", "read", "open", "content", "text"],
        "security": { "risk_level": "moderate", "permissions_required": ["filesystem.read"] },
        "embedding": [0.5, -0.25]
    });
    let entry: ToolIndexEntry = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(serde_json::to_value(entry).unwrap(), wire);
}
