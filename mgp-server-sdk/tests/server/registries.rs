//! Tools from any registry: conversations side by side, lists, and the bounds of lists and changes.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::peer::{Era, Peer};
use mgp_server_sdk::types::ext::PREFIX;
use mgp_server_sdk::types::{BoxFuture, Error, Request, Response, RpcService, code};
use mgp_server_sdk::{
    Constraint, Cx, FieldType, InputField, Object, OutputField, RawJson, Server, Signature, Timeouts, Tool,
    ToolError, ToolValidator, Violation,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tower_service::Service;

/// A validator of the constraint `listed`.
struct Listed;

impl ToolValidator for Listed {
    fn name(&self) -> &'static str {
        "listed"
    }

    fn validate(&self, arguments: &Value) -> Vec<Violation> {
        let is_listed = arguments["ticker"] == "AAPL";
        if is_listed { vec![] } else { vec![Violation::new("/ticker", "no such share")] }
    }
}

/// A registry of signatures with constraints and a validator.
fn signatures() -> Server {
    let signature = Signature::new("quote", "Returns the price of a share.")
        .input(
            InputField::new("ticker", FieldType::String, "The ticker.")
                .constraint(Constraint::Pattern("^[A-Z]{1,5}$".into()))
                .constraint(Constraint::Custom("listed".into())),
        )
        .output(OutputField::new("price", FieldType::Float, "The price."));
    Server::new("registry", "1").validator(Listed).tool(
        Tool::from_signature(&signature),
        async |_: Object| {
            let price = RawJson::parse(r#"{"price":1.5}"#)?;
            Ok::<_, ToolError>(
                mgp_server_sdk::mcp::CallToolResult::text("1.5").with_structured_content(price),
            )
        },
    )
}

/// A registry that was written for one tool, and perhaps takes its time.
#[derive(Clone)]
struct OneTool {
    delay: Duration,
}

impl Service<Request> for OneTool {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let delay = self.delay;
        Box::pin(async move {
            tokio::time::sleep(delay).await;
            let ticker = request.params.object("arguments").unwrap_or_default();
            match (request.method.as_str(), ticker.text("ticker").as_deref()) {
                ("tools/list", _) => Response::with_body(&json!({"tools": [{
                    "name": "quote", "description": "Returns the price of a share.",
                    "inputSchema": {"type": "object", "properties": {"ticker": {"type": "string"}}},
                }]})),
                ("tools/call", Some("AAPL")) => {
                    Response::with_body(&json!({"content": [], "structuredContent": {"price": 1.5}}))
                }
                ("tools/call", _) => Response::with_body(
                    &json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
                ),
                _ => Err(Error::method_not_found(&request.method)),
            }
        })
    }
}

/// Lists, calls and fails a call of the one tool of a server.
async fn check_registry<S>(registry: S, era: Era)
where
    S: RpcService<Future: 'static> + Sync,
{
    let server = Server::new("front", "1").timeouts(Timeouts::default()).fallback(registry);
    let mut peer = Peer::open(server, era).await;
    let tools = peer.call("tools/list", json!({})).await.unwrap();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 1);
    assert_eq!(tools["tools"][0]["name"], "quote");
    let quoted = peer.tool("quote", json!({"ticker": "AAPL"})).await.unwrap();
    assert_eq!(quoted["structuredContent"], json!({"price": 1.5}));
    assert_eq!(peer.tool("quote", json!({"ticker": "ZZZZ"})).await.unwrap()["isError"], true);
    assert_eq!(peer.call("no/such", json!({})).await.unwrap_err().code(), code::METHOD_NOT_FOUND);
}

// covers: GGEN-1-04, GGEN-10-01
#[tokio::test]
async fn a_server_serves_the_tools_of_any_registry() {
    for era in Era::BOTH {
        check_registry(OneTool { delay: Duration::ZERO }, era).await;
        check_registry(signatures().into_service().unwrap(), era).await;
        // The same signatures as the server's own registry.
        let mut peer = Peer::open(signatures().offer_validation(), era).await;
        for (ticker, keyword) in [("aapl", "pattern"), ("ZZZZ", "listed")] {
            let params = json!({"name": "quote", "arguments": {"ticker": ticker}});
            let judged = peer.call("tools/validate", params).await.unwrap();
            assert_eq!(judged["errors"][0]["keyword"], keyword);
        }
        let quoted = peer.tool("quote", json!({"ticker": "AAPL"})).await.unwrap();
        assert_eq!(quoted["structuredContent"], json!({"price": 1.5}));
    }
}

// covers: GGEN-6-03
#[tokio::test(start_paused = true)]
async fn a_list_that_takes_too_long_is_an_error_and_no_part_of_it_is_served() {
    for era in Era::BOTH {
        for (delay, is_late) in [(1_900, false), (2_100, true)] {
            let registry = OneTool { delay: Duration::from_millis(delay) };
            let server = Server::new("front", "1").timeouts(Timeouts::default()).fallback(registry);
            let mut peer = Peer::open(server, era).await;
            let began = Instant::now();
            let listed = peer.start("tools/list", json!({})).await.unwrap();
            if !is_late {
                assert_eq!(listed.unwrap()["tools"].as_array().unwrap().len(), 1);
                continue;
            }
            let error = listed.unwrap_err();
            assert_eq!(error.message(), "Discovery timeout");
            let data: Value = error.data().unwrap().to().unwrap();
            assert_eq!(
                (&data["error_type"], &data["timeout_ms"]),
                (&json!("DiscoveryTimeout"), &json!(2000))
            );
            assert!(began.elapsed() < Duration::from_millis(2_100), "{:?}", began.elapsed());
        }
    }
}

/// A server with a tool that adds a tool.
fn growing(lock_timeout: Duration) -> Server {
    let server = Server::new("test", "1").timeouts(Timeouts::default().lock_timeout(lock_timeout)).tool(
        Tool::new("grow", "Adds a tool."),
        async |arguments: Object, cx: Cx| {
            let name = arguments.text("name").unwrap_or_default();
            cx.server().add_tool(Tool::new(name, "Another one."), async || "one")?;
            Ok::<_, ToolError>("grown")
        },
    );
    // A large catalog takes a while to copy, so that changes meet.
    (0..3_000).fold(server, |server, number| {
        server.tool(Tool::new(format!("tool-{number}"), "One of many."), async || "one")
    })
}

/// Lets four clients change the server at once until one of them is refused or all made `changes`.
async fn contend(server: Server, changes: usize) -> Option<Error> {
    let accept = Arc::new(server.accept().unwrap());
    let capabilities = json!({"extensions": { format!("{PREFIX}structured_errors"): {} }});
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..4 {
        let (accept, capabilities) = (accept.clone(), capabilities.clone());
        clients.spawn(async move {
            let mut peer =
                Peer::connect(&*accept, Era::Session, capabilities, Arc::new(|_, _| Value::Null)).await;
            for change in 0..changes {
                let params =
                    json!({"name": "grow", "arguments": {"name": format!("new-{client}-{}", change % 8)}});
                let answer = peer.start("tools/call", params).await.unwrap();
                match answer {
                    Ok(result) => assert_eq!(result["content"][0]["text"], "grown"),
                    Err(error) => return Some(error),
                }
            }
            None
        });
    }
    let mut refused = None;
    while let Some(outcome) = clients.join_next().await {
        if let Some(error) = outcome.unwrap() {
            refused = Some(error);
            clients.abort_all();
            break;
        }
    }
    refused
}

// covers: GGEN-6-04
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_that_waits_too_long_for_others_is_to_be_tried_again() {
    assert_eq!(Timeouts::default(), Timeouts::default().lock_timeout(Duration::from_millis(500)));
    let patient = contend(growing(Duration::from_mins(1)), 20).await;
    assert!(patient.is_none(), "changes that meet are made one after the other: {patient:?}");
    let error = contend(growing(Duration::ZERO), 100_000).await.expect("four clients never met");
    assert_eq!(error.code(), code::INTERNAL_ERROR);
    let data: Value = error.data().unwrap().to().unwrap();
    assert_eq!(data["category"], "transient", "{data}");
    assert!(data["retry_after_seconds"].as_u64().is_some(), "{data}");
}
