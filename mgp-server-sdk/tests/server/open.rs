//! The additions of third parties: methods, notifications, layers, members.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use crate::peer::{Era, Peer};
use mgp_server_sdk::types::{Error, Flow, Gate, Object, RawJson, Request, Response};
use mgp_server_sdk::{Cx, Server, Tool};
use mgp_transport::Accept;
use serde_json::json;
use tower_service::Service;

#[derive(serde::Serialize, serde::Deserialize)]
struct Thing {
    size: u32,
}

fn server() -> Server {
    Server::new("test", "1")
        .method("vendor/double", async |Thing { size }: Thing| Ok::<_, Error>(Thing { size: size * 2 }))
        .method("vendor/cx", async |_: Object, cx: Cx| {
            Ok::<_, Error>(cx.session().revision.as_str().to_owned())
        })
        .method("vendor/raw", async |request: Request| Ok::<_, Error>(Response::new(request.params.to_raw())))
}

/// A service that answers each request by a function.
#[derive(Clone)]
struct Answering(fn(&Request) -> Result<Response, Error>);

impl Service<Request> for Answering {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        std::future::ready(self.0(&request))
    }
}

#[tokio::test]
async fn a_fallback_answers_what_nobody_knows() {
    for era in Era::BOTH {
        let mut peer = Peer::open(
            server().fallback(Answering(|request| {
                Response::with_body(&json!({"method": request.method.as_str()}))
            })),
            era,
        )
        .await;
        assert_eq!(peer.call("vendor/double", json!({"size": 1})).await.unwrap()["size"], 2);
        assert_eq!(peer.call("other/thing", json!({})).await.unwrap()["method"], "other/thing");
        assert_eq!(peer.call("tools/list", json!({})).await.unwrap()["method"], "tools/list");
    }
}

/// Answers like another server, with one tool of its own.
fn other(request: &Request) -> Result<Response, Error> {
    Response::with_body(&match request.method.as_str() {
        "tools/list" => {
            json!({"tools": [{"name": "far", "inputSchema": {"type": "object"}}], "nextCursor": "2"})
        }
        "tools/call" => json!({"content": [{"type": "text", "text": request.params.text("name").unwrap()}]}),
        "notifications/initialized" => panic!("the other server has agreed on its own"),
        _ => return Err(Error::method_not_found(&request.method)),
    })
}

#[tokio::test]
async fn a_proxy_has_what_both_servers_have() {
    let capabilities = Object::parse(r#"{"tools":{},"prompts":{}}"#).unwrap();
    for era in Era::BOTH {
        let near = Server::new("test", "1").tool(Tool::new("near", "Near."), async || "here");
        let mut peer = Peer::open(near.proxy(Answering(other), &capabilities), era).await;
        let list = peer.call("tools/list", json!({})).await.unwrap();
        let names: Vec<_> =
            list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!((names, &list["nextCursor"]), (vec![json!("near"), json!("far")], &json!("2")));
        let called = async |peer: &mut Peer, name: &str| {
            peer.call("tools/call", json!({"name": name})).await.unwrap()["content"][0]["text"].clone()
        };
        assert_eq!(called(&mut peer, "near").await, "here");
        assert_eq!(called(&mut peer, "other").await, "other");
        assert_eq!(peer.call("prompts/list", json!({})).await.unwrap_err().code(), -32601);
    }
    // A server without tools of its own offers those of the other one.
    let mut peer =
        Peer::open(Server::new("test", "1").proxy(Answering(other), &capabilities), Era::BOTH[0]).await;
    assert_eq!(peer.call("tools/list", json!({})).await.unwrap()["tools"][0]["name"], "far");
}

/// Notes in the request's extensions that it passed.
#[derive(Clone)]
struct Passing(&'static str);

impl Gate for Passing {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        assert!(request.context.session.is_some(), "layers sit behind the era");
        let before = request.extensions.get::<String>().cloned().unwrap_or_default();
        request.extensions.insert(before + self.0);
        Flow::Pass(())
    }
}

#[tokio::test]
async fn layers_sit_between_era_and_handlers_the_first_outermost() {
    for era in Era::BOTH {
        let server = Server::new("test", "1")
            .tool(Tool::new("who", "Who passed."), async |cx: Cx| {
                cx.extensions().get::<String>().cloned().unwrap_or_default()
            })
            .layer(Passing("a").into_layer())
            .layer(Passing("b").into_layer());
        assert_eq!(Peer::open(server, era).await.text("who", json!({})).await, "ab");
    }
}

#[tokio::test]
async fn a_server_says_what_it_is_and_what_it_serves() {
    let server = Server::new("test", "1")
        .title("Test")
        .instructions("Do this.")
        .extension("com.example/x", RawJson::parse(r#"{"a":1}"#).unwrap())
        .experimental("y", RawJson::empty_object())
        .tool(Tool::new("a", "A."), async || ());
    let mut peer = Peer::open(server, Era::Session).await;
    let said = std::mem::take(&mut peer.initialized);
    assert_eq!(said["serverInfo"], json!({"name": "test", "title": "Test", "version": "1"}));
    assert_eq!(said["instructions"], "Do this.");
    assert_eq!(
        said["capabilities"],
        json!({
            "tools": {"listChanged": true}, "logging": {},
            "experimental": {"y": {}}, "extensions": {"com.example/x": {"a": 1}},
        })
    );
}

#[tokio::test]
async fn a_handler_does_not_run_in_the_first_look() {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = |runs: &Arc<AtomicUsize>| {
        let runs = runs.clone();
        move || {
            let runs = runs.clone();
            async move { _ = runs.fetch_add(1, Ordering::Relaxed) }
        }
    };
    let server = Server::new("test", "1")
        .tool(Tool::new("handed", "Handed on."), count(&runs))
        .tool(Tool::new("inline", "Inline.").inline(), count(&runs));
    let accept = server.accept().unwrap();
    let mut service = accept.accept(mgp_server_sdk::types::Outbox::CLOSED);
    for (tool, first_look) in [("handed", 0), ("inline", 1)] {
        runs.store(0, Ordering::Relaxed);
        let params = json!({"name": tool, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        let call = service.call(Request::call("tools/call", Object::from_value(&params).unwrap()));
        let mut call = std::pin::pin!(call);
        let look = call.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop()));
        assert_eq!(look.is_ready(), first_look == 1);
        assert_eq!(runs.load(Ordering::Relaxed), first_look);
        if look.is_pending() {
            call.await.unwrap();
            assert_eq!(runs.load(Ordering::Relaxed), 1);
        }
    }
}
