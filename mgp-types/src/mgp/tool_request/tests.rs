use serde_json::json;

use super::*;

// covers: MGP-16.6-02..08
#[test]
fn a_request_is_read_and_written_as_in_the_specification() {
    let wire = json!({
        "reason": "capability_gap",
        "context": "Processing CSV data but need statistical analysis functions",
        "requirements": {
            "capabilities": ["data_analysis", "statistics"],
            "input_types": ["csv", "tabular_data"],
            "output_types": ["numeric", "chart"],
            "preferred_risk_level": "safe"
        },
        "task_trace_id": "550e8400-e29b-41d4-a716-446655440000"
    });
    let request: RequestTools = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(request.reason, RequestReason::CapabilityGap);
    assert_eq!(request.requirements.preferred_risk_level, Some(RiskLevel::Safe));
    assert_eq!(serde_json::to_value(request).unwrap(), wire);

    let bare: RequestTools = serde_json::from_value(json!({})).unwrap();
    assert_eq!(bare, RequestTools::default());
    let strange: RequestTools = serde_json::from_value(json!({ "reason": "boredom" })).unwrap();
    assert_eq!(strange.reason.as_str(), "boredom");
}

// covers: MGP-16.6-09..13
#[test]
fn what_came_of_it_is_read_and_written_as_in_the_specification() {
    let wire = json!({
        "status": "fulfilled",
        "tools_loaded": [{
            "name": "analyze_csv",
            "server_id": "tool.data_processing",
            "description": "Compute statistics on CSV data",
            "inputSchema": { "type": "object" },
            "security": { "risk_level": "safe", "permissions_required": ["memory.read"] }
        }],
        "tools_unavailable": [],
        "session_tools_count": 4,
        "context_tokens_added": 380
    });
    let answer: RequestedTools = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(answer.status, ToolRequestStatus::Fulfilled);
    assert_eq!(serde_json::to_value(answer).unwrap(), wire);
}

#[test]
fn the_five_words_for_what_came_of_it_are_those_of_the_specification() {
    let words: Vec<_> = ToolRequestStatus::ALL.iter().map(|status| status.as_str()).collect();
    assert_eq!(words, ["fulfilled", "partial", "unavailable", "pending_approval", "creating"]);
}
