//! What clients are told, and what servers are asked for it.

use mgp_types::mgp::ServerId;
use mgp_types::{Error, Method, Object, Request, Response, Revision, Severity};
use tokio::task::JoinHandle;

use crate::servers::upstream::ServerNotifications as _;
use crate::servers::upstream::{ConnectionKey, ListKind};
use crate::test_kernel::{GRANTED, TestClient, TestKernel, TestServer, until};

/// What comes on a connection that all agents share.
fn whole(server: &ServerId) -> ConnectionKey {
    ConnectionKey::shared(server.clone())
}

/// A kernel with a server without sessions, and a client that began a task there.
async fn with_task() -> (TestKernel, TestServer, TestClient) {
    let scene = TestKernel::open().await;
    let server = scene.server_in("a", Revision::V2026_07_28).await;
    let tool = scene.tool("a", "run");
    server.answers(r#"{"resultType":"task","taskId":"t"}"#);
    let peer = TestClient::stateless("some");
    peer.call_tool(&scene, &tool, r#"{"name":"run"}"#).await;
    (scene, server, peer)
}

/// Lets a client listen until the task is aborted.
fn listen(scene: &TestKernel, peer: &TestClient, params: &str) -> JoinHandle<Result<Response, Error>> {
    let request = peer.request("subscriptions/listen", params);
    tokio::spawn(tower_service::Service::call(&mut scene.router.clone(), request))
}

fn log(level: &str) -> Request {
    let params = format!(r#"{{"level":"{level}","data":{{"x": 1.50}},"vendor":1}}"#);
    Request::notify(Method::MESSAGE, Object::parse(params).unwrap())
}

#[tokio::test]
async fn a_session_hears_of_changed_lists_of_servers_that_it_may_use_and_of_no_others() {
    let scene = TestKernel::with(GRANTED).await;
    scene.server("a").await;
    scene.grant("some", "a").await;
    let (some, other) = (TestClient::begin(&scene, "some").await, TestClient::begin(&scene, "other").await);
    scene.changes.changed(&"a".into(), ListKind::Prompts);
    scene.changes.changed(&"a".into(), ListKind::Resources);
    assert_eq!(some.next_message().await.method, Method::PROMPTS_CHANGED);
    assert_eq!(some.next_message().await.method, Method::RESOURCES_CHANGED);
    assert!(other.hears_nothing().await);
}

#[tokio::test]
async fn a_session_hears_of_changed_tools_if_its_list_is_that_of_the_router() {
    let scene = TestKernel::open().await;
    let (asks, searches) =
        (TestClient::begin(&scene, "asks").await, TestClient::begin(&scene, "searches").await);
    asks.call(&scene, "tools/list", "{}").await.unwrap();
    scene.changes.changed(&"a".into(), ListKind::Tools);
    assert_eq!(asks.next_message().await.method, Method::TOOLS_CHANGED);
    assert!(searches.hears_nothing().await);
}

#[tokio::test]
async fn nothing_is_told_before_the_session_has_begun() {
    let scene = TestKernel::open().await;
    let peer = TestClient::describing(&scene, "some", "{}").await;
    scene.changes.changed(&"a".into(), ListKind::Prompts);
    assert!(peer.hears_nothing().await);
    peer.notify(&scene, "notifications/initialized", "{}").await.unwrap();
    assert_eq!(peer.next_message().await.method, Method::PROMPTS_CHANGED);
}

#[tokio::test]
async fn a_server_is_asked_once_for_a_resource_however_many_want_it_and_to_stop_after_the_last() {
    let scene = TestKernel::open().await;
    let server = scene.server("a").await;
    scene.resource("a", "file:///a");
    let (one, two) = (TestClient::begin(&scene, "one").await, TestClient::begin(&scene, "two").await);
    let params = r#"{"uri":"file:///a"}"#;
    for peer in [&one, &two] {
        peer.call(&scene, "resources/subscribe", params).await.unwrap();
    }
    assert_eq!(server.methods(), ["resources/subscribe"]);
    scene.changes.updated(&whole(&"a".into()), "file:///a");
    for peer in [&one, &two] {
        let notification = peer.next_message().await;
        assert_eq!(
            (notification.method, notification.params.text("uri").unwrap().into_owned()),
            (Method::RESOURCE_UPDATED, "file:///a".to_owned())
        );
    }
    one.call(&scene, "resources/unsubscribe", params).await.unwrap();
    scene.changes.updated(&whole(&"a".into()), "file:///a");
    two.next_message().await;
    assert!(one.hears_nothing().await && server.methods().is_empty());
    two.call(&scene, "resources/unsubscribe", params).await.unwrap();
    until(|| server.methods() == ["resources/unsubscribe"]).await;
}

#[tokio::test]
async fn a_session_that_is_gone_wants_nothing_any_more() {
    let scene = TestKernel::open().await;
    let server = scene.server("a").await;
    scene.resource("a", "file:///a");
    let peer = TestClient::begin(&scene, "some").await;
    peer.call(&scene, "resources/subscribe", r#"{"uri":"file:///a"}"#).await.unwrap();
    assert_eq!(server.methods(), ["resources/subscribe"]);
    drop(peer);
    TestClient::begin(&scene, "next").await;
    until(|| server.methods() == ["resources/unsubscribe"]).await;
}

#[tokio::test]
async fn a_connection_is_not_kept_for_a_session_that_is_gone() {
    let scene = TestKernel::open().await;
    let server = scene.server("a").await;
    scene.resource("a", "file:///a");
    let [gone, stays] = [TestClient::begin(&scene, "some").await, TestClient::begin(&scene, "some").await];
    let changes = &scene.changes;
    for peer in [&gone, &stays] {
        peer.call(&scene, "resources/subscribe", r#"{"uri":"file:///a"}"#).await.unwrap();
    }
    assert_eq!(server.methods(), ["resources/subscribe"]);
    for (peer, is_kept) in [(gone, true), (stays, false)] {
        drop(peer);
        changes.forget_gone();
        assert_eq!(changes.watches_on(&whole(&"a".into())), is_kept);
    }
}

#[tokio::test]
async fn a_subscription_that_the_server_refuses_is_refused() {
    let scene = TestKernel::with(GRANTED).await;
    let server = scene.server("a").await;
    scene.resource("a", "file:///a");
    scene.grant("some", "a").await;
    server.refuses(Error::from_origin(mgp_types::Origin::Peer, -1, "no"));
    let some = TestClient::begin(&scene, "some").await;
    let error = some.call(&scene, "resources/subscribe", r#"{"uri":"file:///a"}"#).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (-1, "no"));
    let other = TestClient::begin(&scene, "other").await;
    assert!(other.call(&scene, "resources/subscribe", r#"{"uri":"file:///a"}"#).await.is_err());
    assert_eq!(server.methods(), ["resources/subscribe"]);
}

#[tokio::test]
async fn a_part_of_a_resource_is_told_of_and_what_is_spelled_alike_is_not() {
    let scene = TestKernel::open().await;
    scene.server("a").await;
    scene.resource("a", "file:///a");
    let peer = TestClient::begin(&scene, "some").await;
    peer.call(&scene, "resources/subscribe", r#"{"uri":"mgp://a/file:///a"}"#).await.unwrap();
    scene.changes.updated(&whole(&"a".into()), "file:///abc");
    scene.changes.updated(&whole(&"b".into()), "file:///a");
    assert!(peer.hears_nothing().await);
    scene.changes.updated(&whole(&"a".into()), "file:///a/part");
    assert_eq!(peer.next_message().await.params.text("uri").unwrap(), "mgp://a/file:///a/part");
}

#[tokio::test]
async fn a_request_that_listens_hears_first_what_is_honoured_and_then_of_changes() {
    let scene = TestKernel::with(GRANTED).await;
    let server = scene.server("a").await;
    scene.resource("a", "file:///a");
    scene.resource("b", "file:///b");
    scene.grant("some", "a").await;
    let peer = TestClient::stateless("some");
    let wanted = r#"{"notifications":{"promptsListChanged":true,"toolsListChanged":false,"resourceSubscriptions":["file:///a","file:///b"]}}"#;
    let listening = listen(&scene, &peer, wanted);
    let first = peer.next_message().await;
    assert_eq!(first.method, Method::ACKNOWLEDGED);
    let honoured = first.params.get("notifications").unwrap();
    assert_eq!(
        honoured.to::<serde_json::Value>().unwrap(),
        serde_json::json!({"promptsListChanged": true, "resourceSubscriptions": ["file:///a"]})
    );
    scene.changes.changed(&"a".into(), ListKind::Resources);
    scene.changes.changed(&"a".into(), ListKind::Tools);
    scene.changes.changed(&"b".into(), ListKind::Prompts);
    assert!(peer.hears_nothing().await, "it wants none of these, or may not know");
    scene.changes.changed(&"a".into(), ListKind::Prompts);
    assert_eq!(peer.next_message().await.method, Method::PROMPTS_CHANGED);
    scene.changes.updated(&whole(&"a".into()), "file:///a");
    assert_eq!(peer.next_message().await.method, Method::RESOURCE_UPDATED);
    assert_eq!(server.methods(), ["resources/subscribe"]);
    listening.abort();
    until(|| server.methods() == ["resources/unsubscribe"]).await;
}

#[tokio::test]
async fn a_request_that_listens_is_answered_when_the_kernel_ends() {
    let scene = TestKernel::open().await;
    let peer = TestClient::stateless("some");
    let listening = listen(&scene, &peer, r#"{"notifications":{}}"#);
    assert_eq!(peer.next_message().await.method, Method::ACKNOWLEDGED);
    scene.changes.end();
    assert_eq!(listening.await.unwrap().unwrap().result.as_bytes(), b"{}");
}

#[tokio::test]
async fn a_server_without_sessions_tells_a_request_of_the_kernels() {
    let scene = TestKernel::open().await;
    let server = scene.server_in("a", Revision::V2026_07_28).await;
    scene.resource("a", "file:///a");
    let peer = TestClient::begin(&scene, "some").await;
    peer.call(&scene, "resources/subscribe", r#"{"uri":"file:///a"}"#).await.unwrap();
    let listening = server.listening().remove(0);
    let updated = Object::parse(r#"{"uri":"file:///a","_meta":{}}"#).unwrap();
    listening.notify(Request::notify(Method::RESOURCE_UPDATED, updated)).await.unwrap();
    assert_eq!(peer.next_message().await.params.text("uri").unwrap(), "file:///a");
    assert_eq!(server.methods(), ["subscriptions/listen"]);
}

#[tokio::test]
async fn a_task_of_a_server_without_sessions_is_told_of_to_its_owner_that_listens() {
    let (scene, server, peer) = with_task().await;
    let _listening = listen(&scene, &peer, r#"{"notifications":{"taskIds":["t","unknown"]}}"#);
    let honoured = peer.next_message().await.params.get("notifications").unwrap();
    assert_eq!(honoured.as_bytes(), br#"{"taskIds":["t"]}"#);
    until(|| !server.listening().is_empty()).await;
    let task = Object::parse(r#"{"taskId":"t","status":"working","x": 1.50}"#).unwrap();
    server.listening().remove(0).notify(Request::notify(Method::TASKS, task)).await.unwrap();
    assert_eq!(
        peer.next_message().await.params.to_raw().as_bytes(),
        br#"{"taskId":"t","status":"working","x": 1.50}"#
    );
}

#[tokio::test]
async fn a_server_without_sessions_that_does_not_tell_of_a_resource_refuses_at_once() {
    let scene = TestKernel::open().await;
    let server = async |id| {
        scene.resource(id, &format!("file:///{id}"));
        scene.server_in(id, Revision::V2026_07_28).await
    };
    let (refuses, deaf) = (server("a").await, server("b").await);
    refuses.refuses(Error::from_origin(mgp_types::Origin::Peer, -7, "no"));
    deaf.honours_nothing();
    let peer = TestClient::begin(&scene, "some").await;
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let subscribe = async |uri| peer.call(&scene, "resources/subscribe", uri).await.unwrap_err();
    assert_eq!(subscribe(r#"{"uri":"file:///a"}"#).await.code(), -7);
    assert!(subscribe(r#"{"uri":"file:///b"}"#).await.message().contains("does not tell"));
    assert!(began.elapsed().is_zero(), "nothing was waited for");
}

#[tokio::test]
async fn a_server_that_ends_what_it_tells_of_tasks_is_asked_again() {
    let (scene, server, peer) = with_task().await;
    let _listening = listen(&scene, &peer, r#"{"notifications":{"taskIds":["t"]}}"#);
    until(|| !server.listening().is_empty()).await;
    server.end_listening();
    tokio::time::pause();
    assert!(server.listening().is_empty());
    tokio::time::sleep(super::watch::PAUSE * 2).await;
    assert_eq!(server.listening().len(), 1);
}

#[tokio::test]
async fn a_connection_on_which_somebody_hears_of_a_task_is_in_use() {
    let (scene, server, peer) = with_task().await;
    let in_use = || scene.changes.watches_on(&whole(&"a".into()));
    assert!(!in_use());
    let listening = listen(&scene, &peer, r#"{"notifications":{"taskIds":["t"]}}"#);
    until(|| !server.listening().is_empty()).await;
    assert!(in_use());
    listening.abort();
    until(|| !in_use()).await;
}

#[tokio::test]
async fn each_session_hears_logs_of_its_own_level_and_servers_are_asked_for_the_most_verbose() {
    let scene = TestKernel::open().await;
    let server = scene.server("a").await;
    let silent = scene.server_with("b", Revision::V2025_11_25, "{}").await;
    let (chatty, quiet) =
        (TestClient::begin(&scene, "chatty").await, TestClient::begin(&scene, "quiet").await);
    chatty.call(&scene, "logging/setLevel", r#"{"level":"info"}"#).await.unwrap();
    quiet.call(&scene, "logging/setLevel", r#"{"level":"error"}"#).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked.len(), 1, "the second wants no more than the first");
    assert_eq!(asked[0].params.text("level").unwrap(), "info");
    assert!(silent.asked().is_empty());
    scene.changes.log(&whole(&"a".into()), &log("warning"));
    let notification = chatty.next_message().await;
    assert_eq!(notification.params.to_raw().as_bytes(), log("warning").params.to_raw().as_bytes());
    assert!(quiet.hears_nothing().await);
    scene.changes.log(&whole(&"a".into()), &log("error"));
    quiet.next_message().await;
    let wrong = quiet.call(&scene, "logging/setLevel", r#"{"level":"loud"}"#).await.unwrap_err();
    assert_eq!(wrong.code(), mgp_types::code::INVALID_PARAMS);
}

#[tokio::test]
async fn a_server_that_connects_later_is_asked_for_the_level_as_well() {
    let scene = TestKernel::open().await;
    let peer = TestClient::begin(&scene, "some").await;
    peer.call(&scene, "logging/setLevel", r#"{"level":"debug"}"#).await.unwrap();
    let late = scene.server("late").await;
    scene.changes.connected(&"late".into(), true);
    until(|| late.methods() == ["logging/setLevel"]).await;
}

#[tokio::test]
async fn a_server_is_asked_for_the_level_once_before_it_is_connected() {
    let scene = TestKernel::open().await;
    let connection = "late".into();
    let with_logs = Object::parse(r#"{"logging":{}}"#).unwrap();
    assert_eq!(scene.changes.log_level(&connection, &with_logs), None, "nobody wants any");
    let peer = TestClient::begin(&scene, "some").await;
    peer.call(&scene, "logging/setLevel", r#"{"level":"debug"}"#).await.unwrap();
    assert_eq!(scene.changes.log_level(&connection, &Object::new()), None);
    assert_eq!(scene.changes.log_level(&connection, &with_logs), Severity::named("debug"));
    let late = scene.server("late").await;
    std::sync::Arc::clone(&scene.changes).connected(&connection, true);
    peer.call(&scene, "logging/setLevel", r#"{"level":"debug"}"#).await.unwrap();
    assert!(late.methods().is_empty(), "{:?}", late.methods());
}

#[tokio::test]
async fn the_status_of_a_task_is_told_to_its_owner() {
    let scene = TestKernel::open().await;
    let server = scene.server("a").await;
    let tool = scene.tool("a", "run");
    server.answers(r#"{"task":{"taskId":"t"}}"#);
    let (owner, other) = (TestClient::begin(&scene, "owner").await, TestClient::begin(&scene, "other").await);
    owner.call_tool(&scene, &tool, r#"{"name":"run","task":{}}"#).await;
    let status = Object::parse(r#"{"taskId":"t","status":"completed"}"#).unwrap();
    scene.changes.task(&whole(&"a".into()), &owner.principal, &Request::notify(Method::TASK_STATUS, status));
    assert_eq!(owner.next_message().await.method, Method::TASK_STATUS);
    assert!(other.hears_nothing().await);
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_nobody() {
    let scene = TestKernel::open().await;
    scene.server("a").await;
    let (stuck, other) =
        (TestClient::begin_stuck(&scene, "stuck").await, TestClient::begin(&scene, "other").await);
    for peer in [&stuck, &other] {
        peer.call(&scene, "logging/setLevel", r#"{"level":"debug"}"#).await.unwrap();
    }
    for _ in 0..2_000 {
        scene.changes.log(&whole(&"a".into()), &log("error"));
        scene.changes.changed(&"a".into(), ListKind::Prompts);
        other.next_message().await;
    }
    assert!(stuck.hears_nothing().await);
}

#[tokio::test]
async fn an_agent_hears_when_it_may_use_something_else_and_nobody_else_does() {
    use mgp_types::Gate as _;
    use tower_service::Service as _;

    let scene = TestKernel::with(GRANTED).await;
    scene.server("a").await;
    let (one, other) = (TestClient::begin(&scene, "one").await, TestClient::begin(&scene, "other").await);
    for peer in [&one, &other] {
        peer.call(&scene, "tools/list", "{}").await.unwrap();
    }
    let mut service = crate::methods::MethodsAsToolsGate::default().layer(scene.router.clone());
    let mut change = async |by: &str, name: &str, entry: &str| {
        let params =
            format!(r#"{{"name":"{name}","arguments":{{"agent_id":"one","server_id":"a",{entry}}}}}"#);
        let mut request = one.request("tools/call", &params);
        let operator = by == "root";
        request.context.principal = Some(if operator {
            mgp_types::Principal::operator("root")
        } else {
            mgp_types::Principal::new("one")
        });
        service.call(request).await.map(drop)
    };
    let tool = r#""entry_type":"tool_grant","tool_name":"x""#;
    let server = r#""entry_type":"server_grant""#;
    let allow = |entry: &str| format!(r#"{entry},"permission":"allow""#);
    // What is refused changes nothing.
    assert!(change("one", "mgp_access_grant", &allow(server)).await.is_err());
    assert!(one.hears_nothing().await);
    change("root", "mgp_access_grant", &allow(tool)).await.unwrap();
    assert_eq!(one.next_message().await.method, Method::TOOLS_CHANGED);
    assert!(one.hears_nothing().await, "a tool is no prompt");
    change("root", "mgp.access.grant", &allow(server)).await.unwrap();
    change("root", "mgp/access/revoke", server).await.unwrap();
    let mut heard = Vec::new();
    while heard.len() < 3 {
        heard.push(one.next_message().await.method.to_string());
    }
    heard.sort();
    assert_eq!(
        heard,
        [
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/tools/list_changed"
        ]
    );
    assert!(other.hears_nothing().await);
}

#[tokio::test]
async fn a_server_that_is_gone_is_told_to_those_who_might_use_it() {
    let scene = TestKernel::open().await;
    scene.server("a").await;
    scene.tool("a", "x");
    let some = TestClient::begin(&scene, "some").await;
    some.call(&scene, "tools/list", "{}").await.unwrap();
    let nothing = scene.fleet.prepare(&[], false).unwrap();
    scene.fleet.install(nothing);
    assert_eq!(some.next_message().await.method, Method::TOOLS_CHANGED);
    let listed = some.call(&scene, "tools/list", "{}").await.unwrap();
    assert_eq!(crate::test_kernel::text(&listed), r#"{"tools":[]}"#);
}

#[tokio::test]
async fn what_a_changed_server_had_is_told_to_be_gone_before_it_is_there_again() {
    let scene = TestKernel::open().await;
    scene.server("a").await;
    scene.tool("a", "x");
    let some = TestClient::begin(&scene, "some").await;
    some.call(&scene, "tools/list", "{}").await.unwrap();
    let other = serde_json::from_str(r#"{"id":"a","command":"/nowhere/at/all"}"#).unwrap();
    let other = scene.fleet.prepare(&[other], false).unwrap();
    assert_eq!(scene.fleet.install(other).changed, ["a".into()]);
    assert_eq!(some.next_message().await.method, Method::TOOLS_CHANGED);
}

mod whose;
