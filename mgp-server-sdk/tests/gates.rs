//! Refused requests: each is refused by the layer that is in charge, and by it alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod peer;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mgp_server_sdk::types::{BoxFuture, Error, Request, Response, RpcService};
use mgp_server_sdk::{CompletionRequest, Prompt, Resource, Server, Tool};
use peer::{Era, Peer, Raw};
use serde_json::json;
use tower_layer::layer_fn;
use tower_service::Service;

/// Returns a server that offers only this, and nothing of the rest.
fn offering(capability: &str) -> Server {
    let server = Server::new("test", "1");
    match capability {
        "tools" => server.tool(Tool::new("a", "A."), async || "a"),
        "prompts" => server.prompt(Prompt::new("a", "A."), async || "a"),
        "resources" => server.resource(Resource::new("a:a", "a"), async || "a"),
        "completions" => server
            .prompt(Prompt::new("a", "A.").required("b", "B."), async || "a")
            .complete_prompt("a", "b", async |_: CompletionRequest| ["c"]),
        _ => server,
    }
}

// covers: BASE-03, BASE-13
#[tokio::test]
async fn what_is_declared_is_served_and_what_is_not_is_no_method() {
    let completion =
        json!({"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "b", "value": ""}});
    let methods = [
        ("tools", "tools/list", json!({})),
        ("tools", "tools/call", json!({"name": "a"})),
        ("prompts", "prompts/list", json!({})),
        ("prompts", "prompts/get", json!({"name": "a"})),
        ("resources", "resources/list", json!({})),
        ("resources", "resources/templates/list", json!({})),
        ("resources", "resources/read", json!({"uri": "a:a"})),
        ("completions", "completion/complete", completion),
    ];
    for era in Era::BOTH {
        for offered in ["tools", "prompts", "resources", "completions", "nothing"] {
            let mut peer = Peer::open(offering(offered), era).await;
            let declared = match era {
                Era::Session => peer.initialized["capabilities"].clone(),
                Era::Stateless => {
                    peer.call("server/discover", json!({})).await.unwrap()["capabilities"].clone()
                }
            };
            for (capability, method, params) in &methods {
                let has = declared.get(capability).is_some();
                // A prompt comes with the completion of its argument.
                let expected = offered == *capability || (offered, *capability) == ("completions", "prompts");
                assert_eq!(has, expected, "{offered}: {declared}");
                let outcome = peer.call(method, params.clone()).await;
                match outcome {
                    Err(error) if !has => assert_eq!(error.code(), -32601, "{method}"),
                    // The only argument of that prompt is missing.
                    Err(error) => assert_eq!((error.code(), offered), (-32602, "completions"), "{method}"),
                    Ok(_) => assert!(has, "{offered} serves {method}"),
                }
            }
        }
    }
}

// covers: BASE-13
#[tokio::test]
async fn lists_that_are_said_to_change_are_told_to_change() {
    for (capability, flag) in
        [("tools", "listChanged"), ("prompts", "listChanged"), ("resources", "listChanged")]
    {
        let server = offering(capability);
        let handle = server.handle();
        let mut peer = Peer::open(server, Era::Session).await;
        assert_eq!(peer.initialized["capabilities"][capability][flag], true);
        match capability {
            "tools" => handle.tools_changed(),
            "prompts" => handle.prompts_changed(),
            _ => handle.resources_changed(),
        }
        assert_eq!(peer.next_notification().await.0, format!("notifications/{capability}/list_changed"));
    }
    let mut peer = Peer::open(offering("resources"), Era::Session).await;
    assert_eq!(peer.initialized["capabilities"]["resources"]["subscribe"], true);
    peer.call("resources/subscribe", json!({"uri": "a:a"})).await.unwrap();
}

/// Refuses what a gate in front of a server would refuse: calls that say so.
#[derive(Clone)]
struct Gate<S>(S);

impl<S: RpcService<Future: 'static>> Service<Request> for Gate<S> {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let arguments = request.params.get("arguments");
        if arguments.is_some_and(|arguments| arguments.as_bytes().windows(4).any(|part| part == b"gate")) {
            return Box::pin(std::future::ready(Err(Error::invalid_request("the gate is shut"))));
        }
        Box::pin(self.0.call(request))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    #[schemars(length(max = 5))]
    text: String,
}

// covers: MGP-1.2-04
#[cfg(feature = "validate")]
#[tokio::test]
async fn protocol_gate_and_server_each_refuse_on_their_own() {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let server = Server::new("test", "1").tool(Tool::new("run", "Runs."), move |Text { text }: Text| {
        count.fetch_add(1, Ordering::Relaxed);
        async move { text }
    });
    let call = |arguments: &str, meta: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"run","arguments":{arguments},"_meta":{{{meta}}}}}}}"#
        )
    };
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
    let lines = [
        // What two readers would read differently, and what no era knows: no layer gets to see it.
        call(r#"{"text":"a","text":"gate"}"#, meta),
        call(r#"{"text":"a"}"#, ""),
        // Well formed and legal, but not wanted here.
        call(r#"{"text":"gate"}"#, meta),
        // Nothing that the gate knows of, but not what the tool takes.
        call(r#"{"text":7}"#, meta),
        call(r#"{"text":"too long"}"#, meta),
        // Nothing is wrong with this one.
        call(r#"{"text":"a"}"#, meta),
    ];
    let (mut raw, mut answers) = (Raw::of(server.layer(layer_fn(Gate))), Vec::new());
    for line in &lines {
        answers.push(raw.ask(line).await);
    }
    assert_eq!(answers[0]["error"]["code"], -32600, "{}", answers[0]);
    assert_eq!(answers[1]["error"]["code"], -32600, "{}", answers[1]);
    assert_eq!(answers[2]["error"]["message"], "the gate is shut");
    assert_eq!(answers[3]["result"]["isError"], true, "{}", answers[3]);
    assert_eq!(answers[4]["result"]["isError"], true, "{}", answers[4]);
    assert_eq!(answers[5]["result"]["content"][0]["text"], "a", "{}", answers[5]);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}
