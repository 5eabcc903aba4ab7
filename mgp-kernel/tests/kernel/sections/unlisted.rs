//! Calls of tools by `mgp_tools_call` (§16.5), which are held to all that direct calls are held to.

use serde_json::{Value, json};

use super::raw::{ERAS, Raw};
use crate::host::{Host, ask, quiet};
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![a_call_by_the_meta_tool_comes_out_as_the_direct_one_does_and_is_recorded_as_it];

fn tools() -> [Value; 3] {
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let mirrored =
        json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    [("read", path), ("off", json!({"type": "object"})), ("mirrored", mirrored)]
        .map(|(name, schema)| defined(name, &[], &json!({"inputSchema": schema})))
}

async fn frame(client: &mut Raw, name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments, "_meta": {"trace_id": TRACE}});
    let mut frame = client.call("tools/call", params).await;
    frame["id"].take();
    frame
}

const TRACE: &str = "550e8400-e29b-41d4-a716-446655440000";

// covers: MGP-16.5-18, MGP-16.5-19
async fn a_call_by_the_meta_tool_comes_out_as_the_direct_one_does_and_is_recorded_as_it() {
    let script = Script::of(tools());
    let mut server = script.server("files");
    server["tools"] = json!({"off": {"enabled": false}});
    let mut config = quiet([server]);
    config["tools"] = json!({"level": "L3"});
    config["access"] = json!({"default": "opt-out", "rules": [{"agent": "barred", "server": "files", "permission": "deny"}]});
    let host = Host::ready_with(config).await;
    for revision in ERAS {
        for (agent, call) in
            [("ada", "mgp/tools/call"), ("plain", "mgp_tools_call"), ("barred", "mgp.tools.call")]
        {
            let mut client = match agent {
                "ada" => Raw::agent(&host, agent, revision).await,
                _ => Raw::plain(&host, agent, revision).await,
            };
            for (name, arguments) in [
                ("files__read", json!({"path": "a", "n": 1})),
                ("files.read", json!({})),
                ("read", json!({"path": 7})),
                ("mirrored", json!({"region": "north"})),
                ("files.off", json!({})),
                ("files.raed", json!({})),
                ("nothing", json!({})),
                ("mgp.tools.session", json!({})),
            ] {
                let before = script.calls().len();
                let direct = frame(&mut client, name, &arguments).await;
                let between = script.calls().len();
                let named = json!({"name": name, "arguments": arguments});
                let unlisted = frame(&mut client, call, &named).await;
                assert_eq!(direct, unlisted, "{agent} {name} {arguments}");
                let calls = script.calls();
                assert_eq!(calls[before..between], calls[between..], "{agent} {name} {arguments}");
            }
        }
    }
    let operator = host.operator().await;
    let events = ask(&operator, "kernel/audit/query", json!({"filter": {}})).await.to_string();
    assert!(events.contains(r#""tool_name":"read""#), "{events}");
    assert!(!events.contains("tools_call") && !events.contains("tools.call"), "{events}");
}
