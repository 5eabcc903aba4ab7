//! The server's own side: it holds its tools to what clients granted, whatever the clients check themselves.

use std::sync::Arc;
use std::time::Duration;

use mgp_security::Clock;
use mgp_security::permission::{HeldPermissionsLayer, NeededPermissions};
use mgp_transport::Accept;
use mgp_types::mgp::{Extension, Permission};
use mgp_types::{Object, Origin, Request, Revision};
use serde_json::json;

use crate::ERAS;
use crate::front::Raw;
use crate::kernel::{AGENT, Kernel, Setup, operator, server_id};
use crate::upstream::{self, Reached};

fn server(reached: &Reached) -> impl Accept<Service: Unpin> {
    let needed: NeededPermissions = Arc::new(|tool| match tool {
        "run" => Arc::from([Permission::ShellExecute]),
        "fetch" => Arc::from([Permission::NetworkOutbound]),
        _ => Arc::from([]),
    });
    let layer = HeldPermissionsLayer::new(needed, Clock::system());
    upstream::mgp(reached).layer(layer).accept().unwrap()
}

fn run() -> Request {
    Request::call("tools/call", Object::parse(r#"{"name":"run","arguments":{"command":"ls"}}"#).unwrap())
}

async fn kernel(reached: &Reached, revision: Revision) -> Kernel {
    let kernel = Kernel::before(server(reached), revision, Setup::default()).await;
    assert!(kernel.client.session().unwrap().mgp.as_ref().unwrap().has(&Extension::Permissions));
    let (gate, below) = (kernel.gate.clone(), kernel.below.clone());
    tokio::spawn(async move { gate.follow(below).await });
    kernel
}

// covers: MGP-1.2-04, MGP-3.1-01, MGP-3.4-01, MGP-3.6-02, MGP-3.6-03, MGP-3.6-06
#[tokio::test]
async fn the_server_hears_what_is_granted_and_refuses_the_rest_itself() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        // Granted by configuration before the first call.
        let answer = client.tool("fetch", json!({"url": "https://example.com/"})).await;
        assert!(answer.get("result").is_some(), "{answer}");
        // Past all of the client's layers, the server still refuses.
        let refused = kernel.below.send(run()).await.unwrap_err();
        assert_eq!((refused.code(), refused.origin()), (1000, Origin::Peer));
        kernel.permit(Permission::ShellExecute).await;
        eventually(async || {
            let answer = client.tool("run", json!({"command": "ls"})).await;
            answer["result"]["content"][0]["text"] == "ran ls"
        })
        .await;
        kernel.book.revoke(&operator(), &server_id(), &Permission::ShellExecute).await.unwrap();
        let answer = client.tool("run", json!({"command": "ls"})).await;
        assert_eq!(answer["error"]["code"], 1000, "{answer}");
        eventually(async || kernel.below.send(run()).await.is_err_and(|error| error.code() == 1000)).await;
    }
}

/// What is told to the server travels beside the calls.
async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..200 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came to be");
}
