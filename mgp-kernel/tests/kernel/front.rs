//! What the kernel's HTTP side answers, byte by byte.

use serde_json::{Value, json};

use crate::host::quiet;
use crate::http;
use crate::replicas::serve;
use crate::runner::tests;
use crate::scripted::Script;

tests![
    a_session_that_the_kernel_does_not_know_is_not_found,
    arguments_that_a_tool_wants_in_headers_have_to_say_the_same_there,
    tasks_are_for_clients_that_declared_them,
    the_tool_is_read_from_the_body_and_never_from_a_header,
];

async fn a_session_that_the_kernel_does_not_know_is_not_found() {
    let script = Script::named(&["works"]);
    let state = tempfile::tempdir().unwrap();
    let served = serve(&quiet([script.server("files")]), state.path(), "127.0.0.1:0").await;
    let media = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    let unknown = format!("{media}Mcp-Session-Id: 0123456789abcdef\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for (method, body) in [("POST", list), ("GET", ""), ("DELETE", "")] {
        assert_eq!(http::send(served.address.port(), method, "/mcp", &unknown, body).status, 404, "{method}");
    }
}

async fn arguments_that_a_tool_wants_in_headers_have_to_say_the_same_there() {
    let properties = json!({
        "region": {"type": "string", "x-mcp-header": "Region"}, "text": {"type": "string"},
    });
    let schema = json!({"type": "object", "properties": properties});
    let script = Script::new(
        &json!([{"name": "works", "description": "Returns something.", "inputSchema": schema}]).to_string(),
    );
    let state = tempfile::tempdir().unwrap();
    let served = serve(&quiet([script.server("files")]), state.path(), "127.0.0.1:0").await;
    let call = |headers: &str, arguments: Value| {
        let params = json!({"name": "files.works", "arguments": arguments});
        http::ask(served.address.port(), headers, &json!({}), "tools/call", params)
    };
    let north = || json!({"region": "north", "text": "x"});
    for headers in [
        "",
        "Mcp-Param-Region: south\r\n",
        "Mcp-Param-Region: =?base64?bm9ydGg?=\r\n",
        "Mcp-Param-Region: north\r\nMcp-Param-Region: north\r\n",
    ] {
        let answer = call(headers, north());
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32020)), "{headers}");
    }
    assert_eq!(call("Mcp-Param-Region: north\r\n", json!({"text": "x"})).status, 400);
    assert!(script.calls().is_empty(), "{:?}", script.calls());
    assert_eq!(call("Mcp-Param-Region: north\r\n", north()).status, 200);
    assert_eq!(call("Mcp-Param-Region: =?base64?bm9ydGg=?=\r\n", north()).status, 200);
    assert_eq!(call("", json!({"text": "x"})).status, 200);
    assert_eq!(script.calls().len(), 3);
}

async fn tasks_are_for_clients_that_declared_them() {
    let script = Script::named(&["works"]);
    let state = tempfile::tempdir().unwrap();
    let served = serve(&quiet([script.server("files")]), state.path(), "127.0.0.1:0").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": "one", "inputResponses": {}});
        let response = http::ask(served.address.port(), "Mcp-Name: one\r\n", &json!({}), method, params);
        let answer = response.json();
        assert_eq!((response.status, &answer["error"]["code"]), (400, &json!(-32021)), "{answer}");
        let required = &answer["error"]["data"]["requiredCapabilities"]["extensions"];
        assert!(required["io.modelcontextprotocol/tasks"].is_object(), "{answer}");
    }
}

async fn the_tool_is_read_from_the_body_and_never_from_a_header() {
    let script = Script::named(&["works", "secret"]);
    let mut config = quiet([script.server("files")]);
    config["access"] = json!({"rules": [{"agent": "local-http", "server": "files", "tool": "secret", "permission": "deny"}]});
    let state = tempfile::tempdir().unwrap();
    let served = serve(&config, state.path(), "127.0.0.1:0").await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "files.secret", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
    .to_string();
    for header_name in ["files.works", "files.secret"] {
        let headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {header_name}\r\n"
        );
        let answer = http::post(served.address.port(), &headers, &message).json();
        let refused = answer["error"].is_object() || answer["result"]["isError"] == true;
        assert!(refused, "{header_name}: {answer}");
    }
    assert!(script.calls().is_empty(), "{:?}", script.calls());
}
