//! Tools from any registry: conversations side by side, lists, and the bounds of lists and changes.

#![cfg(feature = "ext")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod peer;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_server_sdk::types::ext::PREFIX;
use mgp_server_sdk::types::{BoxFuture, Error, Request, Response, RpcService, code};
use mgp_server_sdk::{
    Constraint, Cx, FieldType, InputField, Object, OutputField, RawJson, Server, Signature, Timeouts, Tool,
    ToolError, ToolValidator, Violation,
};
use peer::{Era, Peer, Raw};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::time::Instant;
use tower_service::Service;

// covers: GGEN-1-03
#[tokio::test]
async fn conversations_that_go_on_side_by_side_do_not_mix() {
    let server = Server::new("test", "1").state(Barrier::new(4)).tool(
        Tool::new("say", "Says it back when everybody has spoken."),
        async |arguments: Object, cx: Cx| {
            cx.state::<Barrier>()?.wait().await;
            let conversation = cx.meta("conversation").and_then(|name| name.to_text()).unwrap_or_default();
            Ok::<_, ToolError>(format!("{conversation}: {}", arguments.text("text").unwrap_or_default()))
        },
    );
    let accept = server.accept().unwrap();
    let nothing: peer::Answers = Arc::new(|_, _| Value::Null);
    let mut first = Peer::connect(&accept, Era::Session, json!({}), nothing.clone()).await;
    let mut second = Peer::connect(&accept, Era::Stateless, json!({}), nothing).await;
    let say = |conversation: &str, text: &str| json!({"name": "say", "arguments": {"text": text}, "_meta": {"conversation": conversation}});
    // Two conversations, each over both connections; no call is answered before all have come.
    let calls = [
        (first.start("tools/call", say("one", "a")), "one: a"),
        (second.start("tools/call", say("two", "b")), "two: b"),
        (first.start("tools/call", say("two", "c")), "two: c"),
        (second.start("tools/call", say("one", "d")), "one: d"),
    ];
    for (call, expected) in calls {
        assert_eq!(call.await.unwrap().unwrap()["content"][0]["text"], expected);
    }
}

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

// covers: GGEN-1-04
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

// covers: GGEN-2-02
#[tokio::test]
async fn tools_are_listed_with_empty_parameters_and_with_none() {
    let initialize = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
        r#""capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#
    );
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for list in [
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
    ] {
        let mut raw = Raw::of(signatures());
        raw.ask(initialize).await;
        raw.write(initialized).await;
        let answer = raw.ask(list).await;
        assert_eq!(answer["id"], 2);
        let tool = &answer["result"]["tools"][0];
        assert_eq!(
            (&tool["name"], &tool["description"]),
            (&json!("quote"), &json!("Returns the price of a share."))
        );
        assert_eq!(tool["inputSchema"]["properties"]["ticker"]["pattern"], "^[A-Z]{1,5}$");
        assert_eq!(tool["inputSchema"]["required"], json!(["ticker"]));
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
