//! Whose what a server says is, on the connection that it says it on.

use std::sync::Arc;

use mgp_types::mgp::{AccessGrant, AccessPermission, AccessRevoke, ServerId};
use mgp_types::{Method, Object, Principal, Request};

use super::{log, whole};
use crate::servers::upstream::ConnectionKey;
use crate::servers::upstream::ServerNotifications as _;
use crate::test_kernel::{GRANTED, TestClient, TestKernel};

/// What comes on a connection of this agent's own.
fn of(server: &ServerId, agent: &str) -> ConnectionKey {
    ConnectionKey::of_agent(server.clone(), &Principal::new(agent))
}

fn is(found: Option<Arc<mgp_types::Session>>, peer: &TestClient) -> bool {
    found.is_some_and(|found| Arc::ptr_eq(&found, &peer.session))
}

#[tokio::test]
async fn the_only_client_is_one_and_not_one_of_several() {
    let (scene, server) = (TestKernel::open().await, "a".into());
    assert!(scene.changes.only_client(&whole(&server)).is_none());
    let one = TestClient::begin(&scene, "one").await;
    assert!(is(scene.changes.only_client(&whole(&server)), &one));
    let two = TestClient::begin(&scene, "two").await;
    assert!(scene.changes.only_client(&whole(&server)).is_none());
    // On a connection of an agent's own there is no doubt.
    assert!(is(scene.changes.only_client(&of(&server, "two")), &two));
    assert!(scene.changes.only_client(&of(&server, "three")).is_none());
}

#[tokio::test]
async fn a_client_that_may_not_use_a_server_is_not_the_one_that_it_can_ask() {
    let (scene, server) = (TestKernel::with(GRANTED).await, "a".into());
    let _other = TestClient::begin(&scene, "other").await;
    assert!(scene.changes.only_client(&whole(&server)).is_none());
    scene.grant("some", "a").await;
    let some = TestClient::begin(&scene, "some").await;
    assert!(is(scene.changes.only_client(&whole(&server)), &some));
}

#[tokio::test]
async fn a_client_that_has_not_begun_cannot_be_asked_and_may_be_meant() {
    let (scene, server) = (TestKernel::open().await, "a".into());
    let beginning = TestClient::describing(&scene, "beginning", "{}").await;
    assert!(scene.changes.only_client(&whole(&server)).is_none());
    let begun = TestClient::begin(&scene, "begun").await;
    assert!(scene.changes.only_client(&whole(&server)).is_none());
    drop(beginning);
    assert!(is(scene.changes.only_client(&whole(&server)), &begun));
}

#[tokio::test]
async fn what_is_logged_on_a_connection_of_an_agents_own_is_for_that_agent() {
    let (scene, server) = (TestKernel::open().await, "a".into());
    scene.server("a").await;
    let (ada, bob) = (TestClient::begin(&scene, "ada").await, TestClient::begin(&scene, "bob").await);
    for peer in [&ada, &bob] {
        peer.call(&scene, "logging/setLevel", r#"{"level":"debug"}"#).await.unwrap();
    }
    scene.changes.log(&of(&server, "ada"), &log("error"));
    assert_eq!(ada.next_message().await.method, Method::MESSAGE);
    assert!(bob.hears_nothing().await);
}

#[tokio::test]
async fn the_status_of_a_task_is_told_to_no_other_agent_than_its_owner() {
    let (scene, id) = (TestKernel::open().await, "a".into());
    scene.server("a").await;
    let (ada, bob) = (TestClient::begin(&scene, "ada").await, TestClient::begin(&scene, "bob").await);
    let status = Object::parse(r#"{"taskId":"1","status":"failed"}"#).unwrap();
    let status = Request::notify(Method::TASK_STATUS, status);
    // The connection of another agent is not where the owner's tasks are.
    scene.changes.task(&of(&id, "bob"), &ada.principal, &status);
    scene.changes.task(&whole(&id), &ada.principal, &status);
    assert_eq!(ada.next_message().await.method, Method::TASK_STATUS);
    assert!(bob.hears_nothing().await);
}

#[tokio::test]
async fn a_connection_that_is_new_is_asked_in_the_name_of_somebody_who_still_may() {
    let (scene, id) = (TestKernel::with(GRANTED).await, ServerId::from("a"));
    let server = scene.server("a").await;
    scene.resource("a", "file:///a");
    let mut peers = Vec::new();
    for agent in ["one", "two"] {
        scene.grant(agent, "a").await;
        let peer = TestClient::begin(&scene, agent).await;
        peer.call(&scene, "resources/subscribe", r#"{"uri":"file:///a"}"#).await.unwrap();
        peers.push(peer);
    }
    assert_eq!(server.asked()[0].context.principal, Some(Principal::new("one")));
    let operator = Principal::operator("root");
    let revoke = AccessRevoke::new("one".into(), id.clone());
    scene.policies.access.revoke(&operator, None, revoke).await.unwrap();
    scene.changes.connected(&whole(&id), true);
    let asked = loop {
        if let Some(asked) = server.asked().pop() {
            break asked;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(asked.method, Method::RESOURCES_SUBSCRIBE);
    assert_eq!(asked.context.principal, Some(Principal::new("two")));
}

#[tokio::test]
async fn a_client_that_speaks_for_another_is_told_what_that_one_asked_for() {
    let (scene, id) = (TestKernel::with(GRANTED).await, ServerId::from("a"));
    scene.server("a").await;
    scene.resource("a", "file:///a");
    scene.grant("ada", "a").await;
    let front = TestClient::begin(&scene, "front").await;
    let mut ada = front.clone();
    ada.principal = Principal::new("ada");
    ada.call(&scene, "resources/subscribe", r#"{"uri":"file:///a"}"#).await.unwrap();
    scene.changes.updated(&whole(&id), "file:///a");
    assert_eq!(front.next_message().await.method, Method::RESOURCE_UPDATED);
}

#[tokio::test]
async fn a_resource_is_told_of_to_those_who_may_read_it_still() {
    let (scene, server) = (TestKernel::with(GRANTED).await, ServerId::from("a"));
    scene.server("a").await;
    scene.resource("a", "file:///a");
    scene.grant("some", "a").await;
    let operator = Principal::operator("root");
    let tool = AccessGrant::new("some".into(), server.clone(), AccessPermission::Allow).for_tool("x".into());
    scene.policies.access.grant(&operator, None, tool).await.unwrap();
    let some = TestClient::begin(&scene, "some").await;
    some.call(&scene, "resources/subscribe", r#"{"uri":"file:///a"}"#).await.unwrap();
    scene.changes.updated(&whole(&server), "file:///a");
    assert_eq!(some.next_message().await.method, Method::RESOURCE_UPDATED);
    let whole_server = AccessRevoke::new("some".into(), server.clone());
    scene.policies.access.revoke(&operator, None, whole_server).await.unwrap();
    assert!(scene.policies.access.reaches("some", "a"), "a tool is left");
    scene.changes.updated(&whole(&server), "file:///a");
    assert!(some.hears_nothing().await);
}
