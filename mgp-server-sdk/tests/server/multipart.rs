//! Binary arguments over HTTP: as parts of the request, and in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mgp_server_sdk::schemars::{self, JsonSchema};
use mgp_server_sdk::types::RpcService;
use mgp_server_sdk::types::ext::ToolDeclaration;
use mgp_server_sdk::{HttpConfig, Server, ServerAccept, Tool, ToolError};
use mgp_transport::ConnectionLimits;
use mgp_transport::http::HttpServer;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http;

#[derive(Deserialize, JsonSchema)]
struct Pictures {
    before: String,
    more: Option<Vec<String>>,
}

/// A server with a tool that adds up the bytes of pictures.
fn server(declaration: ToolDeclaration) -> Server {
    let tool = Tool::new("sum", "Adds up the bytes of pictures.").declare(declaration);
    Server::new("studio", "1").tool(tool, async |Pictures { before, more }: Pictures| {
        let mut sum = 0_u64;
        let mut bytes = 0;
        for picture in std::iter::once(before).chain(more.unwrap_or_default()) {
            let picture = STANDARD.decode(picture)?;
            bytes += picture.len();
            sum += picture.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        }
        Ok::<_, ToolError>(format!("{bytes} bytes, {sum}"))
    })
}

fn multipart() -> ToolDeclaration {
    ToolDeclaration { binary_transport: Some("multipart".into()), ..ToolDeclaration::default() }
}

const TYPE: &str = r#"multipart/related; type="application/json"; boundary=of-parts"#;

/// Returns the message of a call with these arguments.
fn message(arguments: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "sum", "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

/// Returns the body of a request in parts.
fn in_parts(message: &str, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = format!("--of-parts\r\nContent-Type: application/json\r\n\r\n{message}").into_bytes();
    for (id, bytes) in parts {
        let head = "\r\n--of-parts\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: binary\r\n";
        body.extend_from_slice(format!("{head}Content-ID: <{id}>\r\n\r\n").as_bytes());
        body.extend_from_slice(bytes);
    }
    body.extend_from_slice(b"\r\n--of-parts--\r\n");
    body
}

async fn post<S: RpcService + Sync + Unpin>(
    server: &HttpServer<ServerAccept<S>>,
    content_type: &str,
    body: Vec<u8>,
) -> (u16, Value) {
    let headers = [
        ("content-type", content_type),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "sum"),
    ];
    let (head, answer) = http::post(server, &headers, body).await;
    (head.status.as_u16(), answer)
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

// covers: EXT-10-03
#[tokio::test]
async fn a_call_in_parts_has_the_result_of_the_same_call_in_base64() {
    let accept = server(multipart()).accept().unwrap();
    let http = HttpServer::with_config(accept, HttpConfig::default().multipart());
    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let boundary_like = b"\r\n--of-part\r\n--\r\n\r\n";
    let whole =
        json!({"before": STANDARD.encode(&bytes), "more": [STANDARD.encode(boundary_like), "", "AAEC"]});
    let (status, plain) = post(&http, "application/json", message(&whole).into_bytes()).await;
    assert_eq!(status, 200);
    let parts =
        json!({"before": {"$part": "cid:p1"}, "more": [{"$part": "cid:p2@x"}, {"$part": "cid:p3"}, "AAEC"]});
    let body = in_parts(&message(&parts), &[("p1", &bytes), ("p2@x", boundary_like), ("p3", b"")]);
    let (status, joined) = post(&http, TYPE, body).await;
    assert_eq!((status, text(&joined)), (200, text(&plain)));
    assert!(text(&plain).starts_with("10022 bytes"), "{plain}");
}

// covers: EXT-10-03
#[tokio::test]
async fn parts_are_refused_where_they_are_not_declared_or_cannot_be_read_in_one_way() {
    let refers = message(&json!({"before": {"$part": "cid:p1"}}));
    let good = in_parts(&refers, &[("p1", b"abc")]);
    let silent = HttpServer::new(server(ToolDeclaration::default()).accept().unwrap());
    assert_eq!(post(&silent, TYPE, good.clone()).await.0, 415);

    let mut limits = ConnectionLimits::default();
    limits.max_frame_bytes = 4096;
    let config = HttpConfig::default().multipart().limits(limits);
    let http = HttpServer::with_config(server(multipart()).accept().unwrap(), config);
    assert_eq!(text(&post(&http, TYPE, good.clone()).await.1), "3 bytes, 294");
    for (content_type, body, expected) in [
        ("multipart/related", good.clone(), 415),
        (TYPE, in_parts(&refers, &[]), 400),
        // Each fits the bound as it comes; the second does not once it is in base64.
        (TYPE, in_parts(&refers, &[("p1", &[7; 2000])]), 200),
        (TYPE, in_parts(&refers, &[("p1", &[7; 3400])]), 413),
        (TYPE, in_parts(&refers, &[("p1", &[7; 5000])]), 413),
    ] {
        let (status, answer) = post(&http, content_type, body).await;
        assert_eq!(status, expected, "{content_type}: {answer}");
    }
}
