//! A whole piece of work: tools are found, checked, called, refused and recorded.

use mgp_types::Revision;
use serde_json::{Value, json};

use crate::host::{Host, quiet};
use crate::runner::tests;
use crate::scripted::{Script, defined};
use crate::sections::raw::Raw;

tests![work_goes_from_the_catalog_to_the_record,];

// covers: GGEN-8.5-01, GGEN-2-04, GGEN-5-06, GGEN-5-12, GGEN-5-14
async fn work_goes_from_the_catalog_to_the_record() {
    let schema = json!({
        "type": "object", "required": ["ticker"], "additionalProperties": false,
        "properties": {"ticker": {"type": "string", "pattern": "^[A-Z]{1,5}$"}},
    });
    let script =
        Script::of(["analyze", "sell"].map(|name| defined(name, &[], &json!({"inputSchema": schema}))));
    let mut config = quiet([script.server("finance")]);
    config["access"] = json!({"rules": [
        {"agent": "ada", "server": "finance", "tool": "sell", "permission": "deny"},
    ]});
    let host = Host::ready_with(config).await;
    let mut ada = Raw::declaring(&host, "ada", Revision::V2025_11_25, &["ggen", "structured_errors"]).await;

    let catalog = ada.result("mgp/discovery/catalog", json!({})).await;
    let listed = ada.result("tools/list", json!({})).await;
    let names = |list: &Value| {
        list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((names(&catalog).len(), names(&listed)), (1, names(&catalog)), "{catalog}");
    let name = names(&catalog)[0].clone();
    assert_eq!(catalog["tools"][0]["inputSchema"], schema);

    let with = |ticker: &str| json!({"name": name, "arguments": {"ticker": ticker}});
    let checked = ada.result("tools/validate", with("invalid123")).await;
    assert_eq!((&checked["valid"], &checked["errors"][0]["field"]), (&json!(false), &json!("ticker")));
    let reason = "Pattern mismatch: expected ^[A-Z]{1,5}$, got 'invalid123'";
    assert_eq!(checked["errors"][0]["reason"], reason, "{checked}");
    assert_eq!(ada.result("tools/validate", with("AAPL")).await["valid"], true);
    let all_wrong = json!({"name": name, "arguments": {"ticker": 7, "other": 1}});
    let checked = ada.result("tools/validate", all_wrong).await;
    assert_eq!(checked["errors"].as_array().unwrap().len(), 2, "all that is wrong is told: {checked}");
    let wrong = ada.error("tools/call", with("invalid123")).await;
    assert_eq!(
        (&wrong["code"], &wrong["data"]["category"]),
        (&json!(-32001), &json!("invalid_input")),
        "{wrong}"
    );
    assert_eq!(
        (&wrong["data"]["field"], &wrong["data"]["reason"]),
        (&json!("ticker"), &json!(reason)),
        "{wrong}"
    );
    assert!(script.calls().is_empty(), "what does not fit is not called");
    let done = ada.result("tools/call", with("AAPL")).await;
    assert_eq!(done["content"][0]["text"], r#"{"ticker":"AAPL"}"#, "{done}");
    let denied = ada.refused("finance.sell", json!({"ticker": "AAPL"})).await;
    assert_eq!((&denied["code"], denied["data"].get("field")), (&json!(-32005), None), "{denied}");
    assert_eq!(script.calls(), [r#"analyze {"ticker":"AAPL"}"#]);

    // The record has what was done and what was refused, under the traces that the errors named.
    let events = host.recorded(json!({"agent_id": "ada"})).await;
    let of = |tool: &str, result: &str| {
        let is_it = |event: &&Value| event["target"]["tool_name"] == tool && event["result"] == result;
        events.iter().find(is_it).unwrap_or_else(|| panic!("no {result} of {tool}: {events:?}")).clone()
    };
    of("analyze", "SUCCESS");
    let blocked = events.iter().find(|event| event["trace_id"] == denied["data"]["trace_id"]).unwrap();
    assert_eq!((&blocked["target"]["tool_name"], blocked["result"] == "SUCCESS"), (&json!("sell"), false));
}
