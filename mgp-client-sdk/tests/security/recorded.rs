//! Recorded messages of other MGP programs, and their way through the stack. The numbers are those under which
//! the observations were noted.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_security::Clock;
use mgp_transport::{Accept, ConnectionLimits, connect, memory};
use mgp_types::mgp::{AccessGrant, AccessPermission, Permission, Timestamp};
use mgp_types::{BoxFuture, Error, Outbox, RawJson, Request, Response, Revision};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tower_layer::Layer;
use tower_service::Service;

use crate::front::Raw;
use crate::holding;
use crate::kernel::{AGENT, Kernel, Setup, operator, server_id};
use crate::upstream::Reached;

/// A server that answers with frames that were recorded.
#[derive(Clone)]
struct Recorded {
    initialized: &'static str,
    tools: &'static str,
    outbox: Outbox,
}

impl Service<Request> for Recorded {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (recorded, outbox) = (self.clone(), self.outbox.clone());
        Box::pin(async move {
            let json = match request.method.as_str() {
                "initialize" => recorded.initialized,
                "tools/list" => recorded.tools,
                "tools/call" => {
                    // The server asks whether its client is there before it does anything.
                    outbox.call(Request::call("ping", mgp_types::Params::new())).await?;
                    r#"{"content":[{"type":"text","text":"done"}]}"#
                }
                method if method.starts_with("notifications/") => "{}",
                // What the Python SDK answers to methods it does not know (I-6).
                _ => return Err(Error::invalid_params("Invalid request parameters")),
            };
            Ok(Response::new(RawJson::parse(json).unwrap()))
        })
    }
}

const REVISION: Revision = Revision::V2024_11_05;

const DECLARED: &str = r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":{},"mgp":{"version":"0.2.0",
    "extensions":["security"],"permissions_required":["shell.execute","network.outbound"],
    "server_id":"tool.upstream","trust_level":"standard"}},"serverInfo":{"name":"shell","version":"1"}}"#;
const PLAIN: &str = r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},
    "serverInfo":{"name":"plain","version":"1"}}"#;
const TOOLS: &str = r#"{"tools":[
    {"name":"run","description":"Runs a command.","inputSchema":{"type":"object","properties":{"command":{"type":"string"}}}},
    {"name":"echo","description":"Returns a text.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}},
     "security":{"risk_level":"safe","permissions_required":[],"side_effects":[]},"annotations":{"readOnlyHint":true}},
    {"name":"mgp.evil","description":"Does something.","inputSchema":{"type":"object"}}]}"#;

async fn kernel(initialized: &'static str, reached: &Reached, setup: Setup) -> Kernel {
    let reached = reached.clone();
    let server = move |outbox: Outbox| reached.layer(Recorded { initialized, tools: TOOLS, outbox });
    Kernel::before(server, REVISION, setup).await
}

async fn names(client: &mut Raw) -> Vec<String> {
    let answer = client.call("tools/list", "{}").await;
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

// covers: MGP-3.4-01
#[tokio::test]
async fn i_7_permissions_that_a_server_of_the_seed_declares_are_asked_for() {
    let reached = Reached::default();
    let mut setup = Setup::default();
    setup.settings = setup.settings.with_patience(Duration::ZERO);
    let kernel = kernel(DECLARED, &reached, setup).await;
    let mut client = Raw::open(&kernel, AGENT, REVISION, true).await;
    let answer = client.tool("run", json!({"command": "ls"})).await;
    assert_eq!(answer["error"]["code"], 1000, "{answer}");
    assert!(reached.tools().is_empty());
    kernel.permit(Permission::ShellExecute).await;
    let answer = client.tool("run", json!({"command": "ls"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
}

#[tokio::test]
async fn i_9_every_call_is_in_the_record_and_a_blocked_one_as_blocked() {
    let reached = Reached::default();
    let kernel = kernel(PLAIN, &reached, Setup::default()).await;
    let mut client = Raw::open(&kernel, AGENT, REVISION, true).await;
    kernel.permit(Permission::ShellExecute).await;
    let before = kernel.events().len();
    for _ in 0..5 {
        assert!(client.tool("echo", json!({"text": "x"})).await["error"].is_null());
    }
    client.tool("run", json!({"command": "rm -rf /; ls"})).await;
    let events = kernel.events().split_off(before);
    let executed: Vec<_> =
        events.iter().filter(|event| event.event_type.as_str() == "TOOL_EXECUTED").collect();
    assert_eq!(executed.len(), 5);
    assert!(executed.iter().all(|event| event.target.tool_name == Some("echo".into())
        && event.target.server_id == Some(server_id())
        && event.actor.id == AGENT));
    assert!(events.iter().any(|event| event.event_type.as_str() == "TOOL_BLOCKED"));
}

#[tokio::test]
async fn i_10_a_grant_ends_at_its_time_and_not_with_its_day() {
    let now = Arc::new(AtomicI64::new(1_800_000_000_000));
    let told = now.clone();
    let clock = Clock::new(move || Timestamp::from_millis(told.load(Ordering::Relaxed)).unwrap());
    let reached = Reached::default();
    let kernel = kernel(PLAIN, &reached, Setup { clock: clock.clone(), ..Setup::default() }).await;
    let grant = AccessGrant::of_server("agent.two".into(), server_id(), AccessPermission::Allow)
        .for_tool("echo".into())
        .with_expires_at(Some(clock.now().saturating_add(Duration::from_secs(1))));
    kernel.policy.grant(&operator(), None, grant).await.unwrap();
    let mut client = Raw::open(&kernel, "agent.two", REVISION, true).await;
    assert!(client.tool("echo", json!({"text": "x"})).await["error"].is_null());
    now.fetch_add(2_000, Ordering::Relaxed);
    let answer = client.tool("echo", json!({"text": "x"})).await;
    assert_eq!(answer["error"]["code"], 1001, "{answer}");
}

#[tokio::test]
async fn i_13_what_was_forwarded_elsewhere_is_blocked_and_a_servers_ping_is_answered() {
    let reached = Reached::default();
    let kernel = kernel(PLAIN, &reached, Setup::default()).await;
    let mut client = Raw::open(&kernel, AGENT, REVISION, true).await;
    kernel.permit(Permission::ShellExecute).await;
    for command in ["rm -rf /; ls", "curl http://169.254.169.254/ > x & python3 -c 1"] {
        let answer = client.tool("run", json!({ "command": command })).await;
        assert_eq!(answer["error"]["code"], 1010, "{command}: {answer}");
    }
    assert!(reached.tools().is_empty());
    // Answered only if the ping was.
    let answer =
        tokio::time::timeout(Duration::from_secs(10), client.tool("echo", json!({"text": "x"}))).await;
    assert_eq!(answer.unwrap()["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn i_14_a_tool_under_a_reserved_name_is_neither_listed_nor_called() {
    let reached = Reached::default();
    let kernel = kernel(PLAIN, &reached, Setup::default()).await;
    kernel.allow(AGENT, Some("mgp.evil")).await;
    let mut client = Raw::open(&kernel, AGENT, REVISION, true).await;
    assert!(!names(&mut client).await.contains(&"mgp.evil".to_owned()));
    let answer: Value = client.tool("mgp.evil", json!({})).await;
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    assert!(reached.tools().is_empty());
}

/// Returns a client that sends recorded frames, and what the server answers to those with an id.
async fn replay(server: &impl Accept<Service: Unpin>, frames: &[&str]) -> Vec<Value> {
    let (near, far) = memory::pair(1 << 16);
    let (_, connection) = connect(far.0, far.1, server, ConnectionLimits::default());
    let serving = tokio::spawn(connection);
    let (reader, mut writer) = near;
    for frame in frames {
        writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }
    writer.shutdown().await.unwrap();
    let mut answers = Vec::new();
    let mut lines = BufReader::new(reader).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        answers.push(serde_json::from_str(&line).unwrap());
    }
    serving.await.unwrap().unwrap();
    answers
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05",
    "capabilities":{"mgp":{"version":"0.6.0-draft","extensions":["permissions","tool_security","streaming"]}},
    "clientInfo":{"name":"other-kernel","version":"0.6.3"}}}"#;

#[tokio::test]
async fn i_11_a_notification_with_a_null_id_is_taken_as_one_and_never_answered() {
    let server = holding::server(&Reached::default());
    let initialized = r#"{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let answers = replay(&server, &[&INITIALIZE.replace('\n', " "), initialized, list]).await;
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(2)], "{answers:?}");
    assert!(answers[1]["result"]["tools"].is_array(), "{answers:?}");
}

#[tokio::test]
async fn i_12_a_client_that_waits_for_its_operator_on_one_connection_and_grants_on_the_next() {
    let reached = Reached::default();
    let server = holding::server(&reached);
    let initialize = INITIALIZE.replace('\n', " ");
    let wait = r#"{"jsonrpc":"2.0","id":2,"method":"mgp/permission/await","params":{"request_id":"perm-1","permissions":["shell.execute"],"policy":"interactive","message":"?"}}"#;
    let answers = replay(&server, &[&initialize, wait]).await;
    assert_eq!(answers[0]["id"], 1);
    assert!(answers[1].get("result").is_some(), "{answers:?}");

    let grant = r#"{"jsonrpc":"2.0","id":2,"method":"mgp/permission/grant","params":{"request_id":"perm-1","grants":{"shell.execute":{"decision":"approved"}}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}"#;
    let list = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
    let call = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"run","arguments":{"command":"ls"}}}"#;
    let answers = replay(&server, &[&initialize, grant, initialized, list, call]).await;
    let answer = |id: i64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert!(answer(2).get("result").is_some() && answer(3)["result"]["tools"].is_array(), "{answers:?}");
    assert_eq!(answer(4)["result"]["content"][0]["text"], "ran ls", "{answers:?}");
    assert_eq!(answers.len(), 4);
}
