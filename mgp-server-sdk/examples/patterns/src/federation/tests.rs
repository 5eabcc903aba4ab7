//! The federated tools over a program that answers like a kernel elsewhere.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, StreamPart};
use mgp_server_sdk::{Cx, Server, Tool, ToolError};
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Error, Flow, Gate, RawJson, Request, RpcService, code};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::instance::{ApiKey, Instance};
use super::remote::Instances;
use super::server;

/// A program that answers like a kernel with one server, `work`. It ends with this value.
struct FakeKernel {
    address: String,
    serving: JoinHandle<()>,
    seen: Arc<Seen>,
}

/// What the tools of the server tell the test, and what the test tells them.
struct Seen {
    /// Set when `count` may go on behind its first chunk.
    goes_on: watch::Sender<bool>,
    trace: watch::Sender<Option<String>>,
}

/// Finds the tools of the server `work` by the names that a kernel gives them, such as `work/count`.
#[derive(Clone)]
struct InWork;

impl Gate for InWork {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let full = request.params.text("name").unwrap_or_default();
        if let Some(name) = full.strip_prefix("work/").map(RawJson::from_text) {
            request.params.set("name", name);
        }
        Flow::Pass(())
    }
}

impl FakeKernel {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Seen { goes_on: watch::Sender::new(false), trace: watch::Sender::new(None) });
        let server = Server::new("kernel", "1.0.0")
            .state(Arc::clone(&seen))
            .tool(Tool::new("count", "Streams two parts."), count)
            .tool(Tool::new("refuse", "Answers with an error."), async || {
                Err::<&str, _>(Error::new(code::ACCESS_DENIED, "not you"))
            })
            .tool(Tool::new("fail", "Fails as tools do."), async || {
                Err::<&str, _>(ToolError::new("there is no such file"))
            })
            .layer(InWork.into_layer())
            .streaming();
        let serving = tokio::spawn(async move { drop(server.serve_http(listener).await) });
        Self { address, serving, seen }
    }

    fn instance(&self) -> Instance {
        Instance {
            name: "prod".parse().unwrap(),
            url: format!("http://{}/mcp", self.address).parse().unwrap(),
            key: ApiKey::new("PROD_KEY", "key"),
            authorities: None,
        }
    }

    /// Returns a client of the federation, whose only instance is this kernel.
    async fn client(&self) -> Client {
        let server = server(Instances::new(vec![self.instance()], PATIENCE)).streaming();
        let client = Client::builder("tests", "1.0.0").mgp(Offer::new(ExtensionSet::standard()));
        client.in_process(server.accept().unwrap()).await.unwrap().boxed()
    }
}

impl Drop for FakeKernel {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn count(cx: Cx) -> Result<String, ToolError> {
    let seen = cx.state::<Arc<Seen>>()?;
    seen.trace.send_replace(cx.request().params.text("trace_id").map(Into::into));
    cx.progress(1.0, Some(2.0), Some("half of it")).await;
    cx.stream("one ").await?;
    seen.goes_on.subscribe().wait_for(|goes_on| *goes_on).await?;
    cx.stream("two").await?;
    Ok("one two".to_owned())
}

fn arguments(tool: &str) -> Value {
    json!({"instance": "prod", "server_id": "work", "tool_name": tool, "arguments": {}})
}

async fn called<S: RpcService>(client: &Client<S>, tool: &str) -> Result<CallToolResult, Error> {
    client.call_tool("federated_call", arguments(tool)).await
}

// covers: P-3-17
#[tokio::test]
async fn parts_and_progress_reach_the_caller_while_the_call_runs() {
    let kernel = FakeKernel::start().await;
    let client = kernel.client().await;
    let mut call = client.call_tool("federated_call", arguments("count")).stream().unwrap();
    let mut parts = Vec::new();
    while let Some(part) = call.next().await {
        match part {
            StreamPart::Chunk(chunk) => {
                parts.push(chunk.content.as_text().unwrap().to_owned());
                // The tool ends only now, so that the part came before the result.
                kernel.seen.goes_on.send_replace(true);
            }
            StreamPart::Progress(report) => parts.push(report.message.unwrap_or_default()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(parts, ["half of it", "one ", "two"]);
    assert_eq!(call.finish().await.unwrap().content[0].as_text(), Some("one two"));
}

#[tokio::test]
async fn a_caller_that_wants_no_parts_has_the_whole_result() {
    let kernel = FakeKernel::start().await;
    kernel.seen.goes_on.send_replace(true);
    let trace = "550e8400-e29b-41d4-a716-446655440000";
    let call = kernel.client().await.call_tool("federated_call", arguments("count"));
    let call = call.request_with(|request| {
        request.params.set("trace_id", mgp_types::RawJson::from_text(trace));
    });
    let result = call.await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("one two"));
    assert!(result.extra.get("_mgp").is_none(), "{result:?}");
    assert_eq!(kernel.seen.trace.borrow().as_deref(), Some(trace));
}

// covers: P-3-14
#[tokio::test]
async fn an_instance_that_answers_with_an_error_is_told_so() {
    let kernel = FakeKernel::start().await;
    let client = kernel.client().await;
    let error = called(&client, "refuse").await.unwrap_err();
    assert_eq!(error.code(), code::UPSTREAM_ERROR);
    assert!(error.message().contains("`prod` answered: not you"), "{error}");
    let details: Value = error.recovery().unwrap().details.unwrap().to().unwrap();
    assert_eq!(details, json!({"instance": "prod", "code": 1001}));
    assert_eq!(error.recovery().unwrap().retryable, Some(false));
    // What a tool says of its own failure is its result.
    let failed = called(&client, "fail").await.unwrap();
    assert!(failed.is_error() && failed.content[0].as_text() == Some("there is no such file"));
}

// covers: P-3-01..03, P-3-13
#[tokio::test]
async fn the_tools_have_the_parameters_of_the_pattern_and_their_security() {
    let kernel = FakeKernel::start().await;
    let client = kernel.client().await;
    let tools = client.list_tools().await.unwrap();
    let of = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap();
    let schema = |name: &str| of(name).input_schema.to::<Value>().unwrap();
    let call = schema("federated_call");
    assert_eq!(call["required"], json!(["instance", "server_id", "tool_name", "arguments"]));
    assert_eq!(call["properties"]["arguments"]["type"], "object");
    let discover = schema("federated_discover");
    assert_eq!(discover["required"], json!(["query"]));
    let names: Vec<_> = discover["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["query", "instances", "strategy"]);
    let security: Value = of("federated_call").extra.get("security").unwrap().to().unwrap();
    assert_eq!(
        security,
        json!({
            "risk_level": "dangerous", "permissions_required": ["network.outbound"], "side_effects": ["network"],
            "validator": "network_restricted", "target_arguments": ["instance", "server_id", "tool_name"],
        })
    );
}

#[tokio::test]
async fn an_unknown_instance_is_told_with_those_that_there_are() {
    let kernel = FakeKernel::start().await;
    let client = kernel.client().await;
    let mut wrong = arguments("count");
    wrong["instance"] = json!("test");
    let refused = client.call_tool("federated_call", wrong).await.unwrap();
    assert!(refused.is_error() && refused.content[0].as_text().unwrap().contains("`prod`"), "{refused:?}");
}

const PATIENCE: Duration = Duration::from_secs(30);
