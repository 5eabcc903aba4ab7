//! The same server over HTTP, in both eras.
#![cfg(feature = "http")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http_body_util::{BodyExt, Full};
use mgp_server_sdk::mcp::LogLevel;
use mgp_server_sdk::types::RpcService;
use mgp_server_sdk::{Cx, Elicited, Server, ServerAccept, Tool, ToolError};
use mgp_transport::http::{HttpBody, HttpServer};
use serde_json::{Value, json};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

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
        .tool(Tool::new("ask", "Asks for a name."), async |cx: Cx| -> Result<String, ToolError> {
            Ok(match cx.elicit::<Name>("name", "Who?").await? {
                Elicited::Accepted(form) => form.name,
                _ => "nobody".into(),
            })
        })
        .tool(Tool::new("tell", "Tells progress."), async |cx: Cx| {
            cx.progress(1.0, None, None).await;
            cx.log(LogLevel::Error, None, "logged").await;
        })
        .tool(Tool::new("mirrored", "Takes a number."), async |Mirrored { value }: Mirrored| {
            value.unwrap_or_default()
        })
}

/// A client of one `HttpServer`, without a socket between them.
struct Client<S: RpcService + Sync> {
    server: HttpServer<ServerAccept<S>>,
    session: Option<String>,
    id: AtomicI64,
}

impl<S: RpcService + Sync + Unpin> Client<S> {
    fn new(accept: ServerAccept<S>) -> Arc<Self> {
        Arc::new(Self { server: HttpServer::new(accept), session: None, id: AtomicI64::new(1) })
    }

    async fn in_session(accept: ServerAccept<S>) -> Arc<Self> {
        let mut client = Self { server: HttpServer::new(accept), session: None, id: AtomicI64::new(1) };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "test", "version": "1"}});
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = client.post(&message, &[]).await;
        client.session =
            response.headers().get("mcp-session-id").map(|id| id.to_str().expect("ASCII").into());
        client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &[]).await;
        Arc::new(client)
    }

    async fn post(&self, message: &Value, headers: &[(&str, &str)]) -> http::Response<HttpBody> {
        let mut request = http::Request::post("/mcp")
            .header("host", "localhost")
            .header("user-agent", "tests")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::<bytes::Bytes>::from(message.to_string())).expect("a request");
        self.server.handle(request).await.expect("an answer")
    }

    /// Calls a tool; answers its questions, and returns the messages before the answer and the answer.
    async fn tool(&self, name: &str, params: Value, headers: &[(&str, &str)]) -> (Vec<Value>, Value) {
        let mut params = params;
        params["name"] = json!(name);
        let mut all = headers.to_vec();
        if self.session.is_none() {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
            all.extend([
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "tools/call"),
                ("mcp-name", name),
            ]);
        }
        let id = self.id.fetch_add(1, Ordering::Relaxed);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let mut body = self.post(&message, &all).await.into_body();
        let (mut said, mut text) = (Vec::new(), String::new());
        while let Some(frame) = body.frame().await {
            text.push_str(
                std::str::from_utf8(&frame.expect("a frame").into_data().expect("data")).expect("text"),
            );
            while let Some((event, rest)) = text.split_once("\n\n") {
                let data: String = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
                text = rest.to_owned();
                let Ok(message) = serde_json::from_str::<Value>(&data) else { continue };
                if message["id"] == id && message["method"].is_null() {
                    return (said, message);
                }
                if message["method"] == "elicitation/create" {
                    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": answer()});
                    self.post(&answer, &[]).await;
                }
                said.push(message);
            }
        }
        (said, serde_json::from_str(&text).expect("an answer in JSON"))
    }
}

fn answer() -> Value {
    json!({"action": "accept", "content": {"name": "Ada"}})
}

fn accept() -> ServerAccept<impl RpcService + Sync + Unpin> {
    server().accept().expect("it can be served")
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

// covers: GGEN-10-02
#[tokio::test]
async fn handlers_see_the_head_of_their_request() {
    for client in [Client::new(accept()), Client::in_session(accept()).await] {
        let (said, answer) = client.tool("agent", json!({}), &[]).await;
        assert_eq!(text(&answer), "tests");
        assert!(said.is_empty());
    }
}

#[tokio::test]
async fn what_a_call_tells_and_asks_travels_with_its_answer_2025() {
    let client = Client::in_session(accept()).await;
    let (said, answer) = client.tool("tell", json!({"_meta": {"progressToken": 7}}), &[]).await;
    assert_eq!(said.len(), 1);
    assert_eq!(said[0]["params"], json!({"progressToken": 7, "progress": 1}));
    assert_eq!(answer["result"]["content"], json!([]));
    let (said, answer) = client.tool("ask", json!({}), &[]).await;
    assert_eq!(said[0]["method"], "elicitation/create");
    assert_eq!(text(&answer), "Ada");
}

#[tokio::test]
async fn what_a_call_tells_and_asks_travels_with_its_answer_2026() {
    let client = Client::new(accept());
    let meta = json!({"progressToken": "t", "io.modelcontextprotocol/logLevel": "info"});
    let (said, _) = client.tool("tell", json!({"_meta": meta}), &[]).await;
    let methods: Vec<_> = said.iter().map(|message| &message["method"]).collect();
    assert_eq!(methods, ["notifications/progress", "notifications/message"]);

    let (said, asked) = client.tool("ask", json!({}), &[]).await;
    assert!(said.is_empty());
    assert_eq!(asked["result"]["inputRequests"]["name"]["method"], "elicitation/create");
    let state = &asked["result"]["requestState"];
    let again = json!({"inputResponses": {"name": answer()}, "requestState": state});
    assert_eq!(text(&client.tool("ask", again, &[]).await.1), "Ada");
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
        let (_, answer) = client.tool("mirrored", params.clone(), headers).await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{headers:?}: {answer}");
    }
}
