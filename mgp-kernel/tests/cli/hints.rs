//! Hints of calls over HTTP, at a kernel in front of a real server.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::home::Home;
use crate::kernel::Kernel;

/// A server that renders images for four credits each, and says that it took one.
const STUDIO: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"studio","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"render","description":"Renders an image.","inputSchema":{"type":"object","properties":{"scene":{"type":"string"}}},"latency":"minutes","cost":{"category":"metered","estimated_units":4,"unit_label":"credits"},"max_input_size_bytes":8}]}' ;;
    *'"method":"tools/call"'*)
      echo called >> "$0.calls"
      result='{"content":[{"type":"text","text":"done"}],"_meta":{"cost":{"units":1,"unit_label":"credits"},"suggestion":{"recommended_tool":"mine","reason":"r"},"io.github.mcp-extension-proposals/origin":{"server_id":"bank"}}}' ;;
    *'"id":'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id"; continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// Calls the tool as a client of this kind, and returns the answer.
fn render(port: u16, extensions: &[&str], arguments: &Value, further: &Value) -> Value {
    let ids = extensions.iter().map(|name| (format!("io.github.mcp-extension-proposals/{name}"), json!({})));
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": ids.collect::<serde_json::Map<_, _>>()},
    });
    for (name, value) in further.as_object().unwrap() {
        meta[name] = value.clone();
    }
    let params = json!({"name": "studio__render", "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: studio__render\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let mut lines = answer.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let last = lines.rfind(|line| line.starts_with('{'));
    serde_json::from_str(last.unwrap_or_else(|| panic!("no answer: {answer}"))).unwrap()
}

// covers: EXT-03-03, EXT-03-06, EXT-03-07, EXT-10-02, EXT-00-02
#[test]
fn budgets_sizes_costs_and_origins_hold_in_front_of_a_server_that_knows_nothing_of_them() {
    let home = Home::with_state();
    home.write("studio.sh", STUDIO);
    let script = home.path("studio.sh");
    let config = format!(
        "{}\n[listen]\nagent = \"painter\"\n[[agents]]\nid = \"painter\"\nbudget = {{ units = 5 }}\n\
         [[servers]]\nid = \"studio\"\ncommand = \"sh\"\nargs = [{script:?}]\n",
        home.read("mgp.toml")
    );
    home.write("mgp.toml", &config);
    let kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio"]);
    let port = kernel.port();
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
    assert!(message.contains("`painter` has 3 of 5 units left"), "{poor}");
    assert_eq!(calls(), 2);
}
