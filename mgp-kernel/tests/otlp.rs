//! Traces of requests, and the lines of the log about them, as a collector gets them. The collector of this test takes whatever is sent to it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_discovery::Config;
use mgp_kernel::{Kernel, Telemetry};
use mgp_server_sdk::{Cx, Server, Tool, ToolError};
use mgp_types::{Object, Principal, RawJson};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_traced_from_its_caller_to_the_server() {
    let (collector, mut collected) = collector().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap().port();
    drop(listener);
    let serving = tokio::spawn(server_that_tells().serve_http(server));

    let state = tempfile::tempdir().unwrap();
    let config: Config = serde_json::from_value(json!({
        "telemetry": {"otlp": format!("http://127.0.0.1:{collector}"), "otlp_headers": {"x-token": "t-1"},
            "otlp_logs": true},
        "access": {"rules": [{"agent": "agent", "server": "s", "tool": "denied", "permission": "deny"}]},
        "permissions": {"policy": "auto_approve", "never_automatic": []},
        "servers": [{"id": "s", "url": format!("http://127.0.0.1:{server}/mcp"), "backoff_base_ms": 20}],
    }))
    .unwrap();
    let telemetry = Telemetry::start(&config.telemetry, None).unwrap();
    let kernel = Kernel::start(config, state.path().join("state")).await.unwrap();
    while kernel.servers().iter().all(|view| view.tools == 0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    let client = Client::builder("tests", "1.0.0");
    let client = client.in_process(kernel.accept(Principal::new("agent"))).await.unwrap();
    let parent = RawJson::from_value(&format!("00-{TRACE}-{CALLER}-01")).unwrap();
    // The refusal is a line of the log.
    let _ = client.call_tool("s.denied", json!({})).meta("traceparent", parent.clone()).await;
    let call = client.call_tool("s.parent", json!({})).meta("traceparent", parent);
    let received = call.await.unwrap().content[0].as_text().unwrap().to_owned();

    // The server is within the same trace, and in a span that is ours.
    let words: Vec<&str> = received.split('-').collect();
    assert_eq!((words[0], words[1]), ("00", TRACE), "{received}");
    assert_ne!(words[2], CALLER, "{received}");
    let ours = words[2].to_owned();

    telemetry.end().await;
    let (mut sent, mut lines) = (String::new(), Vec::new());
    while let Ok((head, body)) = collected.try_recv() {
        assert!(head.to_ascii_lowercase().contains("x-token: t-1"), "{head}");
        let body = String::from_utf8(body).unwrap();
        if head.starts_with("POST /v1/logs ") {
            let logs: serde_json::Value = serde_json::from_str(&body).unwrap();
            lines.extend(logs["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap().clone());
            continue;
        }
        assert!(head.starts_with("POST /v1/traces "), "{head}");
        let spans: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert!(
            spans["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["startTimeUnixNano"].is_string(),
            "{body}"
        );
        sent += &body;
    }
    for part in [TRACE, CALLER, &ours, "tools/call s.parent", "gen_ai.tool.name"] {
        assert!(sent.contains(part), "{part} was not sent: {sent}");
    }
    let refusal = lines.iter().find(|line| line["body"]["stringValue"] == "a request was refused");
    let refusal = refusal.unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!((&refusal["traceId"], &refusal["severityText"]), (&json!(TRACE), &json!("WARN")));
    assert!(refusal["spanId"].is_string() && refusal.to_string().contains("denied"), "{refusal}");
    serving.abort();
}

fn server_that_tells() -> Server {
    let server = Server::new("tests", "1.0.0");
    let server = server.tool(Tool::new("denied", "Reads nothing."), async |_: Object, _: Cx| {
        Ok::<_, ToolError>("never".to_owned())
    });
    server.tool(Tool::new("parent", "Tells who calls."), async |_: Object, cx: Cx| {
        let parent = cx.meta("traceparent").and_then(|parent| parent.to_text());
        parent.ok_or_else(|| ToolError::new("nobody"))
    })
}

/// Takes what is sent to its port: the head of each request, and its body.
async fn collector() -> (u16, mpsc::UnboundedReceiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, receive) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let send = send.clone();
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                while socket.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {
                    let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
                    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
                    let length = text.lines().find_map(|line| {
                        let (name, value) = line.split_once(':')?;
                        name.eq_ignore_ascii_case("content-length")
                            .then(|| value.trim().parse::<usize>().ok())?
                    });
                    let end = head + 4 + length.unwrap_or(0);
                    if bytes.len() < end {
                        continue;
                    }
                    let _ = send.send((text, bytes[head + 4..end].to_vec()));
                    bytes.drain(..end);
                    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                }
            });
        }
    });
    (port, receive)
}
