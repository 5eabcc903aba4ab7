//! Tests of the connections of agents and clients.

use super::*;
use tower_service::Service as _;
use crate::router::test_kernel::{TestClient, TestKernel};
use mgp_types::{Context as CallContext, Object};

/// The context of a call of `agent`.
fn calling(agent: &str) -> CallContext {
    *TestClient::stateless(agent).request("tools/call", "{}").context
}

#[tokio::test]
async fn a_connection_on_which_a_task_goes_on_is_not_idle() {
    let scene = TestKernel::open().await;
    let server = r#"{"id":"mail","url":"http://127.0.0.1:9/mcp","sharing":"agent"}"#;
    let config = Arc::new(serde_json::from_str(server).unwrap());
    let agents = OwnConnections::new(&scene.support, &config, &ServerShared::default()).unwrap();
    let [ada, bob] = ["ada", "bob"].map(TestClient::stateless);
    let connections = [&ada, &bob].map(|peer| agents.connection(&peer.principal).unwrap());
    let remote = scene.server("remote");
    remote.answers(r#"{"resultType":"task","taskId":"1","status":"working"}"#);
    let mut to_adas = connections[0].shared.back.get().unwrap().tasks.layer(remote.clone());
    to_adas.call(ada.request("tools/call", "{}")).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(IDLE).await;
    let ended = |agents: &OwnConnections| {
        let ended = agents.idle();
        ended
            .iter()
            .map(|ended| ended.shared.line.agent.as_ref().unwrap().as_str().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ended(&agents), ["bob"]);
    remote.answers(r#"{"taskId":"1","status":"completed"}"#);
    to_adas.call(ada.request("tasks/get", r#"{"taskId":"1"}"#)).await.unwrap();
    assert_eq!(ended(&agents), ["ada"]);
    // The server, which goes on, has it still, and it is still hers.
    let again = agents.connection(&ada.principal).unwrap();
    let mut to_adas = again.shared.back.get().unwrap().tasks.layer(remote);
    to_adas.call(ada.request("tasks/get", r#"{"taskId":"1"}"#)).await.unwrap();
    assert!(to_adas.call(bob.request("tasks/get", r#"{"taskId":"1"}"#)).await.is_err());
}

#[tokio::test]
async fn a_connection_that_fails_takes_no_callback_of_anothers_with_it() {
    let scene = TestKernel::open().await;
    let server =
        r#"{"id":"mail","command":"/nowhere/at/all","sharing":"agent","restart_policy":"never"}"#;
    let server = serde_json::from_str(server).unwrap();
    let prepared = scene.fleet.prepare(&[server], false).unwrap();
    scene.fleet.install(prepared);
    let of_bob = calling("bob");
    let asked = Object::parse(r#"{"callback_id":"1","type":"confirmation","message":"?"}"#).unwrap();
    let passed = {
        let way = ("mail".into(), ErasedService::new(NoConnection));
        let mut callbacks = scene.fleet.callbacks().lock();
        callbacks.pass_on((&way.0, way.1), &of_bob, &asked, Instant::now()).unwrap()
    };

    let upstream = scene.fleet.get("mail").unwrap();
    let start = upstream.begun(&Principal::new("ada")).unwrap();
    start.over().await;
    assert!(scene.fleet.callbacks().lock().answered(&of_bob, &passed).is_some());
}
