//! Hints of calls over HTTP, at a kernel in front of a real server.

use serde_json::{Value, json};

use crate::home::Home;
use crate::http;
use crate::kernel::Kernel;
use crate::shell_servers::shell_server;

/// The tool of a server that renders images for four credits each.
const TOOLS: &str = r#"[{"name":"render","description":"Renders an image.","inputSchema":{"type":"object","properties":{"scene":{"type":"string"}}},"latency":"minutes","cost":{"category":"metered","estimated_units":4,"unit_label":"credits"},"max_input_size_bytes":8}]"#;

/// A call of it, which says that it took one credit.
const RENDER: &str = r#"echo called >> "$0.calls"
      result='{"content":[{"type":"text","text":"done"}],"_meta":{"cost":{"units":1,"unit_label":"credits"},"suggestion":{"recommended_tool":"mine","reason":"r"},"io.github.mcp-extension-proposals/origin":{"server_id":"bank"}}}'"#;

/// Calls the tool as a client of this kind, and returns the answer.
fn render(port: u16, extensions: &[&str], arguments: &Value, meta: &Value) -> Value {
    let ids = extensions.iter().map(|name| (format!("io.github.mcp-extension-proposals/{name}"), json!({})));
    let capabilities = json!({"extensions": ids.collect::<serde_json::Map<_, _>>()});
    let params = json!({"name": "studio__render", "arguments": arguments, "_meta": meta});
    http::ask(port, "", &capabilities, "tools/call", params).json()
}

// covers: EXT-03-03, EXT-03-06, EXT-03-07, EXT-10-02, EXT-00-02
#[test]
fn budgets_sizes_costs_and_origins_hold_in_front_of_a_server_that_knows_nothing_of_them() {
    let settings = "[[agents]]\nid = \"local-http\"\nbudget = { units = 5 }\n";
    let home = Home::with_script("studio", &shell_server(TOOLS, RENDER), settings, "");
    let (_kernel, port) = Kernel::on_http(&home);
    let all = ["structured_errors", "cost_transparency", "provenance", "intent_hints"];
    let calls = || std::fs::read_to_string(home.path("studio.sh.calls")).unwrap_or_default().lines().count();

    let long = render(port, &all, &json!({"scene": "nine byte"}), &json!({}));
    assert!(long.to_string().contains("the arguments have 9 bytes, and the tool takes 8 at most"), "{long}");
    let dear = render(port, &all, &json!({}), &json!({"budget": {"max_units": 3}}));
    assert!(dear["error"]["message"].as_str().unwrap().contains("estimated at 4 credits"), "{dear}");
    assert_eq!(dear["error"]["data"]["code"], "QUOTA_EXHAUSTED", "{dear}");
    assert_eq!(calls(), 0);

    let done = render(port, &all, &json!({"scene": "a moon"}), &json!({"budget": {"max_units": 4}}));
    let meta = &done["result"]["_meta"];
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
    assert_eq!(meta["quota"]["remaining"], 4, "{done}");
    assert_eq!(meta["cost"]["units"], 1);
    assert_eq!(meta["io.github.mcp-extension-proposals/origin"], json!({"server_id": "studio"}));
    assert_eq!(meta.get("suggestion"), None, "the server has no such tool: {done}");
    let plain = render(port, &[], &json!({}), &json!({}));
    assert_eq!(plain["result"]["_meta"].get("quota"), None, "{plain}");
    let poor = render(port, &all, &json!({}), &json!({}));
    let message = poor["error"]["message"].as_str().unwrap();
    assert!(message.contains("`local-http` has 3 of 5 units left"), "{poor}");
    assert_eq!(calls(), 2);
}
