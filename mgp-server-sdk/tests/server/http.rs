//! The same server over HTTP, in both eras.

use http_body_util::{BodyExt, Full};
use mgp_server_sdk::types::RpcService;
use mgp_server_sdk::{Cx, HttpConfig, Server, ServerAccept, Tool};
use mgp_transport::http::HttpServer;
use serde_json::{Value, json};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Mirrored {
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: Option<i64>,
}

fn server() -> Server {
    Server::new("test", "1")
        .tool(Tool::new("agent", "Reads a header."), async |cx: Cx| {
            let agent = cx.http_parts().and_then(|parts| parts.headers.get("user-agent")?.to_str().ok());
            agent.unwrap_or_default().to_owned()
        })
        .tool(Tool::new("mirrored", "Takes a number."), async |Mirrored { value }: Mirrored| {
            value.unwrap_or_default()
        })
}

/// A client of one `HttpServer`, without a socket between them.
struct Client<S: RpcService + Sync> {
    server: HttpServer<ServerAccept<S>>,
    session: Option<String>,
}

impl<S: RpcService + Sync + Unpin> Client<S> {
    fn new(accept: ServerAccept<S>) -> Self {
        Self { server: HttpServer::new(accept), session: None }
    }

    async fn in_session(accept: ServerAccept<S>) -> Self {
        let mut client = Self::new(accept);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let (headers, _) = client.post(&message, &[]).await;
        client.session = headers.get("mcp-session-id").map(|id| id.to_str().expect("ASCII").into());
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &[]).await;
        client
    }

    async fn post(&self, message: &Value, headers: &[(&str, &str)]) -> (http::HeaderMap, Value) {
        let mut all = vec![("content-type", "application/json")];
        if let Some(session) = &self.session {
            all.extend([("mcp-session-id", &**session), ("mcp-protocol-version", "2025-11-25")]);
        }
        all.extend(headers);
        let (head, answer) = post(&self.server, &all, message.to_string().into()).await;
        (head.headers, answer)
    }

    /// Calls a tool, and returns the answer.
    async fn tool(&self, name: &str, params: Value, headers: &[(&str, &str)]) -> Value {
        let mut params = params;
        params["name"] = json!(name);
        let mut all = headers.to_vec();
        if self.session.is_none() {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            all.extend([
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "tools/call"),
                ("mcp-name", name),
            ]);
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        self.post(&message, &all).await.1
    }
}

/// Posts a message, and returns the head of the answer and the last message in it.
pub(crate) async fn post<S: RpcService + Sync + Unpin>(
    server: &HttpServer<ServerAccept<S>>,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> (http::response::Parts, Value) {
    let mut request = http::Request::post("/mcp")
        .header("host", "localhost")
        .header("user-agent", "tests")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::<bytes::Bytes>::from(body)).expect("a request");
    let (head, body) = server.handle(request).await.expect("an answer").into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let body = std::str::from_utf8(&body).expect("text");
    let mut events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    (head, serde_json::from_str(events.next_back().unwrap_or(body)).unwrap_or_default())
}

fn accept() -> ServerAccept<impl RpcService + Sync + Unpin> {
    server().accept().expect("it can be served")
}

#[tokio::test]
async fn handlers_see_the_head_of_their_request() {
    for client in [Client::new(accept()), Client::in_session(accept()).await] {
        let answer = client.tool("agent", json!({}), &[]).await;
        assert_eq!(answer["result"]["content"][0]["text"], "tests", "{answer}");
    }
}

#[tokio::test]
async fn headers_that_repeat_arguments_have_to_say_the_same_2026() {
    let client = Client::new(accept());
    let seven = json!({"arguments": {"value": 7}});
    for (params, headers, code) in [
        (&seven, &[("mcp-param-value", "7")][..], None),
        (&seven, &[("mcp-param-value", "7.0")], None),
        (&seven, &[("mcp-param-value", "=?base64?Nw==?=")], None),
        (&seven, &[("mcp-param-value", "8")], Some(-32020)),
        (&seven, &[("mcp-param-value", "=?base64?Nw?=")], Some(-32020)),
        (&seven, &[("mcp-param-value", "7"), ("mcp-param-value", "7")], Some(-32020)),
        (&seven, &[], Some(-32020)),
        (&json!({"arguments": {"value": null}}), &[], None),
        (&json!({}), &[("mcp-param-other", "x")], None),
    ] {
        let answer = client.tool("mirrored", params.clone(), headers).await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{headers:?}: {answer}");
    }
}

#[tokio::test]
async fn hosts_are_those_of_the_settings() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = HttpConfig::default().allow_host("notes.example");
    let serving = tokio::spawn(server().serve_http_with(listener, config));
    for (host, is_known) in [("notes.example", true), ("other.example", false)] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head =
            format!("POST /mcp HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(!answer.starts_with("HTTP/1.1 403"), is_known, "{host}: {answer}");
    }
    serving.abort();
}
