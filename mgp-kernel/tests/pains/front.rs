//! What the kernel's HTTP side answers, byte by byte.

use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::host::quiet;
use crate::replicas::serve;
use crate::runner::tests;
use crate::scripted::Script;

tests![
    a_session_that_the_kernel_does_not_know_is_not_found,
    arguments_that_a_tool_wants_in_headers_have_to_say_the_same_there,
    tasks_are_for_clients_that_declared_them,
];

/// The status of the answer to a request, and its body.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut head = format!(
        "{method} /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once('{').map(|(_, rest)| format!("{{{rest}")).unwrap_or_default();
    // Behind what is sent in chunks or as an event there is a little more.
    let first = serde_json::Deserializer::from_str(&body).into_iter().next();
    (status, first.and_then(Result::ok).unwrap_or_default())
}

/// A request of the era without sessions.
async fn stateless(
    address: SocketAddr,
    (method, name): (&str, &str),
    headers: &[(&str, &str)],
    params: Value,
) -> (u16, Value) {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let own = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", name)];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    send(address, "POST", &[&own, headers].concat(), &body).await
}

async fn a_session_that_the_kernel_does_not_know_is_not_found() {
    let script = Script::named(&["works"]);
    let state = tempfile::tempdir().unwrap();
    let served = serve(&quiet([script.server("files")]), state.path(), "127.0.0.1:0").await;
    let unknown = [("Mcp-Session-Id", "0123456789abcdef"), ("MCP-Protocol-Version", "2025-11-25")];
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(send(served.address, "POST", &unknown, &list).await.0, 404);
    assert_eq!(send(served.address, "GET", &unknown, &Value::Null).await.0, 404);
    assert_eq!(send(served.address, "DELETE", &unknown, &Value::Null).await.0, 404);
}

async fn arguments_that_a_tool_wants_in_headers_have_to_say_the_same_there() {
    let properties = json!({
        "region": {"type": "string", "x-mcp-header": "Region"}, "text": {"type": "string"},
    });
    let schema = json!({"type": "object", "properties": properties});
    let script =
        Script::new(&json!([{"name": "works", "description": "Works.", "inputSchema": schema}]).to_string());
    let state = tempfile::tempdir().unwrap();
    let served = serve(&quiet([script.server("files")]), state.path(), "127.0.0.1:0").await;
    let call = async |headers: &[(&str, &str)], arguments: Value| {
        let params = json!({"name": "files.works", "arguments": arguments});
        stateless(served.address, ("tools/call", "files.works"), headers, params).await
    };
    let north = || json!({"region": "north", "text": "x"});
    for headers in [
        &[][..],
        &[("Mcp-Param-Region", "south")],
        &[("Mcp-Param-Region", "=?base64?bm9ydGg?=")],
        &[("Mcp-Param-Region", "north"), ("Mcp-Param-Region", "north")],
    ] {
        let (status, answer) = call(headers, north()).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)), "{headers:?}: {answer}");
    }
    assert_eq!(call(&[("Mcp-Param-Region", "north")], json!({"text": "x"})).await.0, 400);
    assert!(script.calls().is_empty(), "{:?}", script.calls());
    assert_eq!(call(&[("Mcp-Param-Region", "north")], north()).await.0, 200);
    assert_eq!(call(&[("Mcp-Param-Region", "=?base64?bm9ydGg=?=")], north()).await.0, 200);
    assert_eq!(call(&[], json!({"text": "x"})).await.0, 200);
    assert_eq!(script.calls().len(), 3);
}

async fn tasks_are_for_clients_that_declared_them() {
    let script = Script::named(&["works"]);
    let state = tempfile::tempdir().unwrap();
    let served = serve(&quiet([script.server("files")]), state.path(), "127.0.0.1:0").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": "one", "inputResponses": {}});
        let (status, answer) = stateless(served.address, (method, "one"), &[], params).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32021)), "{answer}");
        let required = &answer["error"]["data"]["requiredCapabilities"]["extensions"];
        assert!(required["io.modelcontextprotocol/tasks"].is_object(), "{answer}");
    }
}
