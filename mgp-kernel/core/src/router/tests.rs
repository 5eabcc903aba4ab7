//! What clients get from many servers as if from one.

use mgp_types::mcp::CacheScope;
use mgp_types::{Error, Object, Origin, RawJson, code};

use super::others::SERVER_META;
use crate::test_kernel::{GRANTED, TestClient, TestKernel, text};
use mgp_types::BoxedService;

fn members(list: &str, member: &str) -> Vec<String> {
    let list: serde_json::Value = serde_json::from_str(list).unwrap();
    let named = |item: &serde_json::Value| {
        ["name", "uri", "uriTemplate"].iter().find_map(|name| item[name].as_str()).unwrap().to_owned()
    };
    let uri_first =
        |item: &serde_json::Value| item["uri"].as_str().map_or_else(|| named(item), str::to_owned);
    list[member].as_array().unwrap().iter().map(uri_first).collect()
}

#[tokio::test]
async fn everything_is_offered_before_any_server_is_there() {
    let scene = TestKernel::open().await;
    let peer = TestClient::begin(&scene, "some").await;
    let described = text(&peer.call(&scene, "server/discover", "{}").await.unwrap());
    for part in ["tools", "prompts", "resources", "completions", "logging", "tasks"] {
        assert!(described.contains(&format!(r#""{part}":{{"#)), "{part}: {described}");
    }
    for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        assert!(text(&peer.call(&scene, list, "{}").await.unwrap()).ends_with(":[]}"), "{list}");
    }
}

#[tokio::test]
async fn tasks_are_offered_in_the_form_of_the_era() {
    let scene = TestKernel::open().await;
    scene.server("a").await;
    let peer = TestClient::begin(&scene, "some").await;
    let session = text(&peer.call(&scene, "server/discover", "{}").await.unwrap());
    assert!(session.contains(r#""tasks":{"#) && !session.contains("io.modelcontextprotocol/tasks"));
    let stateless = TestClient::stateless("some").call(&scene, "server/discover", "{}").await.unwrap();
    assert!(!text(&stateless).contains(r#""tasks":{"#));
    assert!(text(&stateless).contains(r#""io.modelcontextprotocol/tasks":{}"#));
}

#[tokio::test]
async fn a_capability_and_instructions_of_a_server_reach_those_who_may_use_it_and_its_mgp_nobody() {
    let scene = TestKernel::with(GRANTED).await;
    let own =
        r#"{"tools":{},"vendor":{"a": 1.50},"mgp":{"x":1},"extensions":{"v/x":{},"dev.cloto/mgp":{"y":1}}}"#;
    scene.server_with("a", mgp_types::Revision::V2025_11_25, own).await;
    scene.grant("some", "a").await;
    let seen = text(&TestClient::stateless("some").call(&scene, "server/discover", "{}").await.unwrap());
    assert!(seen.contains(r#""vendor":{"a": 1.50}"#) && seen.contains(r#""v/x":{}"#), "{seen}");
    assert!(seen.contains("# Server a\\nUse a well."), "{seen}");
    assert!(!seen.contains("\"mgp\"") && !seen.contains("dev.cloto/mgp"), "{seen}");
    let other = text(&TestClient::stateless("other").call(&scene, "server/discover", "{}").await.unwrap());
    assert!(!other.contains("vendor") && !other.contains("Use a"), "{other}");
}

#[tokio::test]
async fn who_sees_all_tools_shares_the_bytes_of_the_catalog() {
    let scene = TestKernel::open().await;
    scene.server("a").await;
    scene.server("b").await;
    scene.tool("a", "read");
    scene.tool("b", "write");
    let peer = TestClient::stateless("some");
    let list = peer.call(&scene, "tools/list", "{}").await.unwrap();
    let shared = scene.catalog.snapshot().tool_list(mgp_types::mgp::NameStyle::UNDERSCORES);
    assert_eq!(list.result.as_bytes().as_ptr(), shared.as_bytes().as_ptr());
    assert!(text(&list).contains(r#""x":1.50"#), "definitions keep their bytes");
    let hint = list.context.cache.unwrap();
    assert_eq!((hint.scope, hint.ttl_ms <= 5_000), (CacheScope::Private, true));
}

#[tokio::test]
async fn a_list_holds_what_the_caller_may_use_and_follows_its_grants() {
    let scene = TestKernel::with(GRANTED).await;
    for (server, tool) in [("a", "read"), ("b", "write")] {
        scene.server(server).await;
        scene.tool(server, tool);
        scene.prompt(server, "greet");
        scene.resource(server, &format!("file:///{server}"));
    }
    scene.grant("some", "a").await;
    let peer = TestClient::stateless("some");
    for _ in 0..2 {
        let tools = text(&peer.call(&scene, "tools/list", "{}").await.unwrap());
        assert_eq!(members(&tools, "tools"), ["a__read"]);
    }
    let prompts = text(&peer.call(&scene, "prompts/list", "{}").await.unwrap());
    assert_eq!(members(&prompts, "prompts"), ["a__greet"]);
    let resources = text(&peer.call(&scene, "resources/list", "{}").await.unwrap());
    assert_eq!(members(&resources, "resources"), ["file:///a"]);
    let nothing = TestClient::stateless("other").call(&scene, "tools/list", "{}").await.unwrap();
    assert_eq!(text(&nothing), r#"{"tools":[]}"#);
    scene.grant("some", "b").await;
    let tools = text(&peer.call(&scene, "tools/list", "{}").await.unwrap());
    assert_eq!(members(&tools, "tools"), ["a__read", "b__write"]);
}

#[tokio::test]
async fn a_cursor_that_nobody_gave_is_an_error() {
    let scene = TestKernel::open().await;
    let peer = TestClient::stateless("some");
    for list in ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "tasks/list"] {
        let error = peer.call(&scene, list, r#"{"cursor":"x"}"#).await.unwrap_err();
        assert_eq!(error.code(), code::INVALID_PARAMS, "{list}");
    }
    assert!(peer.call(&scene, "tools/list", r#"{"cursor":null}"#).await.is_ok());
}

#[tokio::test]
async fn a_request_for_one_server_keeps_every_byte_but_the_name_and_so_does_the_answer() {
    let scene = TestKernel::open().await;
    let (a, b) = (scene.server("a").await, scene.server("b").await);
    scene.prompt("a", "greet");
    scene.resource("b", "file:///b");
    let peer = TestClient::stateless("some");
    a.answers(r#"{"messages":[ ],"vendor":1.50,"_meta":{"v/x":{}}}"#);
    let params =
        r#"{"name":"a.greet","arguments":{"n":"1"},"vendor":[1.50, 2],"_meta":{"v/n":7.0,"v/t":"x"}}"#;
    let answer = peer.call(&scene, "prompts/get", params).await.unwrap();
    assert_eq!(text(&answer), r#"{"messages":[ ],"vendor":1.50,"_meta":{"v/x":{}}}"#);
    let asked = a.asked().remove(0);
    assert_eq!(asked.params.to_raw().as_bytes(), params.replace("a.greet", "greet").as_bytes());
    let params = r#"{"uri":"file:///b","inputResponses":{"k":{"action":"accept"}},"requestState":"s"}"#;
    peer.call(&scene, "resources/read", params).await.unwrap();
    assert_eq!(b.asked().remove(0).params.to_raw().as_bytes(), params.as_bytes());
    let params = r#"{"ref":{"type":"ref/prompt","name":"a.greet"},"argument":{"name":"n","value":""}}"#;
    peer.call(&scene, "completion/complete", params).await.unwrap();
    let asked = a.asked().remove(0).params.to_raw();
    assert_eq!(asked.as_bytes(), params.replace("a.greet", "greet").as_bytes());
}

#[tokio::test]
async fn a_resource_is_read_at_the_first_server_that_has_it_among_those_that_the_caller_may_use() {
    let scene = TestKernel::with(GRANTED).await;
    let servers = [scene.server("a").await, scene.server("b").await];
    for (server, template) in [("a", "by-id://users/{id}"), ("b", "by-id://{table}/{id}")] {
        scene.resource(server, "file:///both");
        let definition = Object::parse(format!(r#"{{"uriTemplate":"{template}","name":"it"}}"#)).unwrap();
        scene.catalog.put_templates(server.into(), vec![definition]).unwrap();
        scene.grant("all", server).await;
    }
    scene.grant("some", "b").await;
    for (agent, reached) in [("all", 0), ("some", 1)] {
        let peer = TestClient::stateless(agent);
        for uri in ["file:///both", "by-id://users/7"] {
            peer.call(&scene, "resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).await.unwrap();
            assert_eq!(servers[reached].methods(), ["resources/read"], "{agent} {uri}");
            assert!(servers[1 - reached].methods().is_empty());
        }
    }
    let hidden = TestClient::stateless("some");
    assert!(hidden.call(&scene, "resources/read", r#"{"uri":"mgp://a/file:///both"}"#).await.is_err());
}

#[tokio::test]
async fn the_code_and_data_of_an_upstream_error_come_back_unchanged() {
    let scene = TestKernel::open().await;
    let server = scene.server("a").await;
    scene.resource("a", "file:///a");
    let data = RawJson::parse(r#"{"why": [1.50]}"#).unwrap();
    server.refuses(Error::from_origin(Origin::Peer, -12345, "odd").with_data(data));
    let peer = TestClient::stateless("some");
    let error = peer.call(&scene, "resources/read", r#"{"uri":"file:///a"}"#).await.unwrap_err();
    assert_eq!((error.code(), error.message(), error.origin()), (-12345, "odd", Origin::Peer));
    assert_eq!(error.data().unwrap().as_bytes(), br#"{"why": [1.50]}"#);
}

#[tokio::test]
async fn what_is_not_there_and_what_may_not_be_seen_are_refused_alike_with_what_is_near() {
    let scene = TestKernel::with(GRANTED).await;
    scene.server("a").await;
    scene.server("b").await;
    scene.prompt("a", "greeting");
    scene.prompt("b", "greeting_secret");
    scene.resource("b", "file:///secret");
    scene.grant("some", "a").await;
    let peer = TestClient::stateless("some");
    let refused = async |method: &str, params: &str| {
        let error = peer.call(&scene, method, params).await.unwrap_err();
        (error.code(), error.message().to_owned())
    };
    let (code, message) = refused("prompts/get", r#"{"name":"greet"}"#).await;
    assert_eq!((code, message.contains("`a__greeting`")), (code::INVALID_PARAMS, true), "{message}");
    let hidden = refused("prompts/get", r#"{"name":"b.greeting_secret"}"#).await.1;
    assert!(!hidden.contains("did you mean `b__"), "{hidden}");
    let secret = refused("resources/read", r#"{"uri":"file:///secret"}"#).await;
    let missing = refused("resources/read", r#"{"uri":"file:///absent"}"#).await;
    assert_eq!(secret.0, code::MCP_RESOURCE_NOT_FOUND);
    assert_eq!(secret.1.replace("secret", "absent"), missing.1);
    assert_eq!(refused("resources/read", "{}").await.0, code::INVALID_PARAMS);
}

const PASSING: &str = r#"{"access":{"default":"opt-in"},"servers":[
    {"id":"a","command":"x","pass_methods":["vendor/*","notifications/vendor"]},
    {"id":"b","command":"x","pass_methods":["vendor/do"]},
    {"id":"c","command":"x"}
]}"#;

#[tokio::test]
async fn a_method_of_a_vendor_goes_to_the_only_server_that_it_is_passed_to_or_to_the_one_that_is_named() {
    let scene = TestKernel::with(PASSING).await;
    let (a, b, c) = (scene.server("a").await, scene.server("b").await, scene.server("c").await);
    for server in ["a", "c"] {
        scene.grant("one", server).await;
    }
    for server in ["a", "b", "c"] {
        scene.grant("all", server).await;
    }
    let params = r#"{"deep":{"x": 1.50},"_meta":{"v":1}}"#;
    a.answers(r#"{"odd": true}"#);
    let answer = TestClient::stateless("one").call(&scene, "vendor/do", params).await.unwrap();
    assert_eq!(text(&answer), r#"{"odd": true}"#);
    assert_eq!(a.asked().remove(0).params.to_raw().as_bytes(), params.as_bytes());
    let all = TestClient::stateless("all");
    let error = all.call(&scene, "vendor/do", params).await.unwrap_err();
    assert_eq!((error.code(), error.message().contains(SERVER_META)), (code::METHOD_NOT_FOUND, true));
    let named = |server: &str| format!(r#"{{"_meta":{{"v":1,"{SERVER_META}":"{server}"}}}}"#);
    all.call(&scene, "vendor/do", &named("b")).await.unwrap();
    assert_eq!(b.asked().remove(0).params.to_raw().as_bytes(), br#"{"_meta":{"v":1}}"#);
    let unseen = TestClient::stateless("one").call(&scene, "vendor/do", &named("b")).await.unwrap_err();
    assert_eq!(unseen.code(), code::INVALID_PARAMS);
    let nobody = TestClient::stateless("nobody").call(&scene, "vendor/do", "{}").await.unwrap_err();
    assert_eq!(nobody.code(), code::METHOD_NOT_FOUND);
    let shut = all.call(&scene, "vendor/do", &named("c")).await.unwrap_err();
    assert_eq!((shut.code(), shut.message().contains("pass_methods")), (code::METHOD_NOT_FOUND, true));
    for method in [
        "mgp/later/method", "Tools/Call", "tools/call ", "shutdown", "sampling/createMessage", "kernel/stats",
    ] {
        let refused = TestClient::stateless("one").call(&scene, method, "{}").await.unwrap_err();
        assert_eq!(refused.code(), code::METHOD_NOT_FOUND, "{method}");
    }
    assert!(a.asked().is_empty() && b.asked().is_empty() && c.asked().is_empty());
}

#[tokio::test]
async fn a_notification_goes_to_those_that_it_concerns_and_calls_no_tool() {
    let scene = TestKernel::with(&PASSING.replace("opt-in", "opt-out")).await;
    let a = scene.server("a").await;
    let b = scene.server_in("b", mgp_types::Revision::V2026_07_28).await;
    let peer = TestClient::begin(&scene, "some").await;
    peer.notify(&scene, "notifications/roots/list_changed", "{}").await.unwrap();
    assert_eq!((a.methods(), b.methods()), (vec!["notifications/roots/list_changed".to_owned()], vec![]));
    peer.notify(&scene, "notifications/vendor", r#"{"x": 1}"#).await.unwrap();
    assert_eq!(a.asked().remove(0).params.to_raw().as_bytes(), br#"{"x": 1}"#);
    for swallowed in [
        "notifications/cancelled",
        "notifications/progress",
        "notifications/vendor/other",
        "notifications/tools/list_changed",
        "Notifications/Vendor",
        "vendor/do",
    ] {
        peer.notify(&scene, swallowed, "{}").await.unwrap();
    }
    assert!(peer.notify(&scene, "tools/call", r#"{"name":"a.read"}"#).await.is_err());
    assert!(a.asked().is_empty() && b.asked().is_empty());
}

// covers: ENV-10-01
#[tokio::test]
async fn a_task_is_asked_of_the_server_that_began_it_for_its_owner() {
    let scene = TestKernel::open().await;
    let (a, b) = (scene.server("a").await, scene.server("b").await);
    let (read, write) = (scene.tool("a", "read"), scene.tool("b", "write"));
    let (session, stateless) = (TestClient::begin(&scene, "some").await, TestClient::stateless("some"));
    a.answers(r#"{"task":{"taskId":"one"}}"#);
    b.answers(r#"{"resultType":"task","taskId":"two"}"#);
    session.call_tool(&scene, &read, r#"{"name":"read","task":{}}"#).await;
    stateless.call_tool(&scene, &write, r#"{"name":"write"}"#).await;
    for server in [&a, &b] {
        assert_eq!(server.methods(), ["tools/call"]);
    }
    session.call(&scene, "tasks/result", r#"{"taskId":"one"}"#).await.unwrap();
    stateless.call(&scene, "tasks/update", r#"{"taskId":"two","inputResponses":{}}"#).await.unwrap();
    assert_eq!(
        (a.methods(), b.methods()),
        (vec!["tasks/result".to_owned()], vec!["tasks/update".to_owned()])
    );
    let error =
        TestClient::stateless("other").call(&scene, "tasks/get", r#"{"taskId":"two"}"#).await.unwrap_err();
    assert_eq!(error.code(), code::INVALID_PARAMS);
}

#[tokio::test]
async fn the_tasks_of_all_servers_are_one_list() {
    let scene = TestKernel::open().await;
    let (a, b) = (scene.server("a").await, scene.server("b").await);
    scene
        .server_with("c", mgp_types::Revision::V2025_11_25, "{}")
        .await
        .refuses(Error::internal("never asked"));
    let d = scene.server("d").await;
    d.refuses(Error::internal("broken"));
    let peer = TestClient::begin(&scene, "some").await;
    for (server, id, begun) in
        [(&a, "a", r#"{"task":{"taskId":"1"}}"#), (&b, "b", r#"{"task":{"taskId":"2"}}"#)]
    {
        server.answers(begun);
        peer.call_tool(&scene, &scene.tool(id, "run"), r#"{"name":"run","task":{}}"#).await;
    }
    a.answers(r#"{"tasks":[{"taskId":"1", "v":1.50},{"taskId":"2"}]}"#);
    b.answers(r#"{"tasks":[{"taskId":"2"}]}"#);
    let list = peer.call(&scene, "tasks/list", "{}").await.unwrap();
    assert_eq!(text(&list), r#"{"tasks":[{"taskId":"1", "v":1.50},{"taskId":"2"}]}"#);
}

#[tokio::test]
async fn a_callback_is_answered_where_it_was_asked_whatever_became_of_the_server() {
    let scene = TestKernel::open().await;
    let (asks, other) = (scene.server("a").await, TestClient::stateless("other"));
    let peer = TestClient::stateless("some");
    let call = peer.request("tools/call", "{}").context;
    let asked = Object::parse(r#"{"callback_id":"1","type":"confirmation","message":"?"}"#).unwrap();
    let way = BoxedService::new(asks.clone());
    let callbacks = scene.fleet.callbacks();
    let now = tokio::time::Instant::now();
    let passed = callbacks.lock().pass_on((&"a".into(), way), &call, &asked, now).unwrap();
    let answer = String::from_utf8(passed.to_raw().as_bytes().to_vec()).unwrap();
    assert!(other.call(&scene, "mgp/callback/respond", &answer).await.is_err());

    // Its place is another's while it ends, and then nobody's.
    let successor = scene.server("a").await;
    for _ in 0..2 {
        peer.call(&scene, "mgp/callback/respond", &answer).await.unwrap();
        let answered = asks.asked().remove(0);
        assert_eq!(answered.params.text("callback_id").as_deref(), Some("1"));
        let nothing = scene.fleet.prepare(&[], false).unwrap();
        scene.fleet.install(nothing);
    }
    assert!(successor.asked().is_empty());
    let _ = callbacks.lock().end_of_call(call.outbox.stream());
    assert!(peer.call(&scene, "mgp/callback/respond", &answer).await.is_err());
}

#[tokio::test]
async fn tasks_of_one_id_of_two_servers_are_told_apart() {
    let scene = TestKernel::open().await;
    let (a, b) = (scene.server("a").await, scene.server("b").await);
    let peer = TestClient::begin(&scene, "some").await;
    for (server, id) in [(&a, "a"), (&b, "b")] {
        server.answers(r#"{"task":{"taskId":"1"}}"#);
        peer.call_tool(&scene, &scene.tool(id, "run"), r#"{"name":"run","task":{}}"#).await;
    }
    a.answers(r#"{"taskId":"1","status":"working"}"#);
    b.answers(r#"{"taskId":"1","status":"failed"}"#);
    for (shown, status) in [("1", "working"), ("b/1", "failed")] {
        let params = format!(r#"{{"taskId":"{shown}"}}"#);
        let answer = peer.call(&scene, "tasks/get", &params).await.unwrap();
        assert_eq!(text(&answer), format!(r#"{{"taskId":"{shown}","status":"{status}"}}"#));
    }
    for server in [&a, &b] {
        let asked = server.asked();
        assert_eq!(asked.last().unwrap().params.text("taskId").as_deref(), Some("1"));
    }
    a.answers(r#"{"tasks":[{"taskId":"1"}]}"#);
    b.answers(r#"{"tasks":[{"taskId":"1","x":1.50},{"taskId":"2"}]}"#);
    let list = peer.call(&scene, "tasks/list", "{}").await.unwrap();
    assert_eq!(text(&list), r#"{"tasks":[{"taskId":"1"},{"taskId":"b/1","x":1.50}]}"#);
    for (server, shown) in [("b", "b/1"), ("a", "1")] {
        let mut status = Object::parse(r#"{"taskId":"1","status":"completed"}"#).unwrap();
        let server = scene.fleet.get(server).unwrap();
        let owner = server.record_task_status(&server.connection_key(&peer.principal), &mut status);
        assert_eq!((owner, status.text("taskId").as_deref()), (Some(peer.principal.clone()), Some(shown)));
    }
}
