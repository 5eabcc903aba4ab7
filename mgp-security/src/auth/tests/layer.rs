use ::http::request::Parts;
use mgp_types::mgp::CallRecord;
use mgp_types::{Error, Object, Request, Response, RunningCalls, code};
use tower_layer::Layer;
use tower_service::Service;

use super::*;
use crate::auth::{AuthLayer, KeyScope};
use crate::doubles::cases;

/// A server that lists tools to whatever it is asked.
fn listing() -> TestServer {
    TestServer::with_result(r#"{"tools":[{"name":"echo"},{"name":"add"}],"nextCursor":"2"}"#)
}

fn request(method: &str, params: &str) -> Request {
    Request::call(method, Object::parse(params.to_owned()).unwrap())
}

/// A request as it comes over HTTP with these headers.
fn over_http(mut request: Request, headers: &[(&'static str, String)]) -> Request {
    let mut head = ::http::Request::post("/");
    for (name, value) in headers {
        head = head.header(*name, value);
    }
    let (parts, ()) = head.body(()).unwrap().into_parts();
    request.extensions.insert_shared(Arc::new(parts));
    request
}

fn bearer(key: &SecretKey) -> [(&'static str, String); 2] {
    [("authorization", format!("Bearer {}", key.expose())), ("x-other", "kept".to_owned())]
}

/// A request that comes with a key.
fn by(key: &SecretKey, method: &str, params: &str) -> Request {
    over_http(request(method, params), &bearer(key))
}

async fn ask(layer: &AuthLayer, request: Request) -> Result<Response, Error> {
    layer.layer(listing()).call(request).await
}

/// Checks which tools may be called with a key.
async fn check_calls(layer: &AuthLayer, key: &SecretKey, permitted: &[&str], refused: &[&str]) {
    for (names, is_permitted) in [(permitted, true), (refused, false)] {
        for name in names {
            let call = by(key, "tools/call", &format!(r#"{{"name":"{name}"}}"#));
            assert_eq!(ask(layer, call).await.is_ok(), is_permitted, "{name}");
        }
    }
}

#[tokio::test]
async fn the_key_says_who_the_caller_is_and_goes_no_further() {
    let ring = ring();
    let (_, key) = issue(&ring, &[ApiPermission::ToolInvoke("*.echo".parse().unwrap())]).await;
    let layer = AuthLayer::http(ring);
    let listing = listing();
    let mut call = over_http(request("tools/call", r#"{"name":"echo"}"#), &bearer(&key));
    call.context.principal = Some(Principal::operator("root"));
    let shared = call.clone(); // As the transport keeps the head, too.
    layer.layer(listing.clone()).call(call).await.unwrap();
    drop(shared);
    let asked = listing.seen.lock();
    assert_eq!(
        asked[0].context.principal,
        Some(Principal::of(mgp_types::PrincipalKind::KeyHolder, "agent.one"))
    );
    let head = asked[0].extensions.get::<Parts>().unwrap();
    assert!(!head.headers.contains_key("authorization"));
    assert_eq!(head.headers["x-other"], "kept");
}

#[tokio::test]
async fn who_brings_no_key_may_be_known_and_who_brings_a_wrong_one_is_not() {
    let ring = ring();
    let (_, key) = issue(&ring, &[ApiPermission::ToolInvoke("*.echo".parse().unwrap())]).await;
    let layer = AuthLayer::http_or(ring, Principal::new("local"));
    let listing = listing();
    let call = || request("tools/call", r#"{"name":"echo"}"#);
    let mut service = layer.layer(listing.clone());
    service.call(over_http(call(), &[])).await.unwrap();
    service.call(over_http(call(), &bearer(&key))).await.unwrap();
    let wrong = over_http(call(), &[("authorization", "Bearer mgp_wrong".to_owned())]);
    assert_eq!(service.call(wrong).await.unwrap_err().code(), code::AUTH_REQUIRED);
    let callers: Vec<_> = listing.seen.lock().iter().map(|seen| seen.context.principal.clone()).collect();
    assert_eq!(
        callers,
        [
            Some(Principal::new("local")),
            Some(Principal::of(mgp_types::PrincipalKind::KeyHolder, "agent.one"))
        ]
    );
}

// covers: GGEN-7-14
#[tokio::test]
async fn without_exactly_one_bearer_key_nothing_passes() {
    let ring = ring();
    let (_, key) = issue(&ring, &[ApiPermission::AdminWrite, ApiPermission::AdminRead]).await;
    let layer = AuthLayer::http(ring);
    let with = |value: String| ("authorization", value);
    let good = || with(format!("Bearer {}", key.expose()));
    for headers in [
        vec![],
        vec![with(String::new())],
        vec![with("Bearer".to_owned())],
        vec![with("Bearer ".to_owned())],
        vec![with(key.expose().to_owned())],
        vec![with(format!("Basic {}", key.expose()))],
        vec![with(format!("Bearer {} {}", key.expose(), key.expose()))],
        vec![good(), good()],
        vec![("x-api-key", key.expose().to_owned())],
    ] {
        for method in ["ping", "initialize", "tools/list", "mgp/health/ping"] {
            let error = ask(&layer, over_http(request(method, "{}"), &headers)).await.unwrap_err();
            assert_eq!(error.code(), code::AUTH_REQUIRED, "{headers:?} {method}");
        }
    }
    assert_eq!(ask(&layer, request("ping", "{}")).await.unwrap_err().code(), code::AUTH_REQUIRED);
    let shouted = over_http(request("ping", "{}"), &[with(format!("BEARER  {}", key.expose()))]);
    assert!(ask(&layer, shouted).await.is_ok());
}

// covers: GGEN-7-06..10, GGEN-7-12
#[tokio::test]
async fn each_permission_permits_its_own_and_nothing_else() {
    use ApiPermission::{AdminRead, AdminWrite, ToolInvoke, ToolRead, ToolsListAll};
    let all = [
        ToolInvoke("*.echo".parse().unwrap()),
        ToolRead("*.echo".parse().unwrap()),
        ToolsListAll,
        AdminWrite,
        AdminRead,
    ];
    let ring = ring();
    // The table says which of them, by their place in `all`, permit the request.
    for (permitting, request) in cases(include_str!("permitted.txt")) {
        let (method, params) = request.split_once(' ').unwrap();
        for (place, permission) in all.iter().enumerate() {
            let (_, key) = issue(&ring, std::slice::from_ref(permission)).await;
            let layer = AuthLayer::http(ring.clone());
            let outcome = ask(&layer, by(&key, method, params)).await;
            let is_permitted = permitting.contains(&place.to_string());
            assert_eq!(outcome.is_ok(), is_permitted, "{method} {params} {permission:?}");
            assert!(outcome.err().is_none_or(|error| {
                error.code() == code::PERMISSION_DENIED && error.message().contains("--allow ")
            }));
        }
    }
}

#[tokio::test]
async fn a_pattern_is_matched_by_server_and_tool() {
    let ring = ring();
    for (allowed, permitted, refused) in [
        ("*", &["files.read", "x"][..], &[""][..]),
        (
            "files.*",
            &["files.read"],
            &["files", "files.", "filesx.read", "files.a.b", "other.files.read", ""],
        ),
        ("files.a.*", &["files.a.x"], &["files.a", "files.b.x"]),
        ("*.read", &["files.read", "read", "a.b.read"], &["files.reader", "read.files"]),
        ("*.delete_*", &["files.delete_all"], &["files.undelete_all", "delete_.x"]),
    ] {
        let (_, key) = issue(&ring, &[ApiPermission::ToolInvoke(allowed.parse().unwrap())]).await;
        let layer = AuthLayer::http(ring.clone());
        check_calls(&layer, &key, permitted, refused).await;
        assert!(ask(&layer, by(&key, "tools/call", "{}")).await.is_err(), "{allowed}");
    }
    let (_, key) = issue(&ring, &[ApiPermission::ToolRead("*.ec*".parse().unwrap())]).await;
    let list = ask(&AuthLayer::http(ring), by(&key, "tools/list", "{}")).await.unwrap();
    assert_eq!(list.result.as_bytes(), br#"{"tools":[{"name":"echo"}],"nextCursor":"2"}"#);
}

#[tokio::test]
async fn a_tool_that_stands_for_a_method_demands_what_the_method_demands() {
    use ApiPermission::{AdminRead, AdminWrite, ToolInvoke, ToolsListAll};
    let ring = ring();
    for (allowed, permitted, refused) in [
        (
            ToolsListAll,
            &["mgp.tools.discover", "mgp_tools_request"][..],
            &["mgp.access.grant", "files.read"][..],
        ),
        (AdminRead, &["mgp/access/query"], &["mgp.tools.discover", "mgp.access.grant"]),
        (AdminWrite, &["mgp.access.grant"], &["mgp.tools.discover", "mgp.access.query"]),
        // Who may call all tools may not for that change who has access.
        (
            ToolInvoke("*".parse().unwrap()),
            &["files.read", "mgp.stream.cancel"],
            &["mgp.tools.discover", "mgp.access.grant"],
        ),
        (ToolInvoke("mgp.*".parse().unwrap()), &["mgp.callback.respond"], &["mgp.access.grant"]),
        (ToolInvoke("mgp.tools.discover".parse().unwrap()), &["mgp.tools.discover"], &["mgp.tools.request"]),
    ] {
        let (_, key) = issue(&ring, std::slice::from_ref(&allowed)).await;
        let layer = AuthLayer::http(ring.clone()).methods_as_tools();
        check_calls(&layer, &key, permitted, refused).await;
    }
    // Elsewhere a tool may be called so and be anything.
    let (_, key) = issue(&ring, &[ToolsListAll]).await;
    let call = by(&key, "tools/call", r#"{"name":"mgp.tools.discover"}"#);
    assert!(ask(&AuthLayer::http(ring), call).await.is_err());
}

// covers: GGEN-7-07, GGEN-7-08
#[tokio::test]
async fn a_list_shows_what_the_key_may_see() {
    let ring = ring();
    for (permission, tools) in [
        (ApiPermission::ToolRead("*.add".parse().unwrap()), r#"[{"name":"add"}]"#),
        (ApiPermission::ToolsListAll, r#"[{"name":"echo"},{"name":"add"}]"#),
        (ApiPermission::ToolInvoke("*.echo".parse().unwrap()), "[]"),
        (ApiPermission::AdminRead, "[]"),
    ] {
        let (_, key) = issue(&ring, std::slice::from_ref(&permission)).await;
        let layer = AuthLayer::http(ring.clone());
        let list = ask(&layer, by(&key, "tools/list", "{}")).await.unwrap();
        let expected = format!(r#"{{"tools":{tools},"nextCursor":"2"}}"#);
        assert_eq!(list.result.as_bytes(), expected.as_bytes(), "{permission:?}");
    }
}

#[tokio::test]
async fn documents_about_tools_have_those_that_the_key_may_call_or_else_see() {
    use ApiPermission::{AdminRead, ToolInvoke, ToolRead, ToolsListAll};
    let ring = ring();
    let call = ToolInvoke("files.read".parse().unwrap());
    let see = ToolRead("files.stat".parse().unwrap());
    for (permissions, covered) in [
        (vec![call.clone()], [true, false, false]),
        (vec![ToolsListAll, AdminRead, call.clone()], [true, false, false]),
        (vec![see.clone()], [false, true, false]),
        (vec![see, call], [true, false, false]),
        (vec![ToolsListAll], [true, true, true]),
    ] {
        let (_, key) = issue(&ring, &permissions).await;
        let listing = listing();
        let mut service = AuthLayer::http(ring.clone()).layer(listing.clone());
        service.call(by(&key, "mgp/manifest/get", "{}")).await.unwrap();
        let asked = listing.seen.lock();
        let found = ["read", "stat", "write"].map(|tool| KeyScope::covers(&asked[0], "files", tool));
        assert_eq!(found, covered, "{permissions:?}");
    }
    assert!(KeyScope::covers(&request("mgp/manifest/get", "{}"), "files", "read"), "no key narrows nothing");
}

#[tokio::test]
async fn a_key_can_be_revoked() {
    let ring = ring();
    let (info, key) = issue(&ring, &[]).await;
    let layer = AuthLayer::http(ring.clone());
    assert!(ask(&layer, by(&key, "ping", "{}")).await.is_ok());
    ring.revoke(info.id, RunningCalls::Cancel).await.unwrap();
    assert_eq!(ask(&layer, by(&key, "ping", "{}")).await.unwrap_err().code(), code::AUTH_REQUIRED);
}

#[tokio::test]
async fn a_call_that_goes_on_behind_its_answer_ends_with_its_key() {
    let ring = ring();
    let (info, key) = issue(&ring, &[]).await;
    let server = listing();
    AuthLayer::http(ring.clone()).layer(server.clone()).call(by(&key, "ping", "{}")).await.unwrap();
    let admitted = server.seen.lock().remove(0);
    let mut held = std::pin::pin!(KeyScope::hold(&admitted, std::future::pending()));
    let mut polling = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(held.as_mut().poll(&mut polling).is_pending());
    ring.revoke(info.id, RunningCalls::Cancel).await.unwrap();
    assert_eq!(held.await.unwrap_err().code(), code::AUTH_REQUIRED);
}

#[tokio::test]
async fn a_fixed_principal_needs_no_key_and_sees_all() {
    let layer = AuthLayer::fixed(Principal::operator("me"));
    let listing = listing();
    let call = over_http(request("tools/list", "{}"), &[("authorization", "Bearer somebody".to_owned())]);
    let list = layer.layer(listing.clone()).call(call).await.unwrap();
    assert!(list.result.as_bytes().ends_with(br#""nextCursor":"2"}"#));
    let asked = listing.seen.lock();
    assert_eq!(asked[0].context.principal, Some(Principal::operator("me")));
    assert!(!asked[0].extensions.get::<Parts>().unwrap().headers.contains_key("authorization"));
}

#[tokio::test]
async fn the_trail_learns_why() {
    let ring = ring();
    let (_, key) = issue(&ring, &[]).await;
    let layer = AuthLayer::http(ring);
    let (name, params) = ("tools/call", r#"{"name":"echo"}"#);
    for (mut call, rule) in
        [(request(name, params), "unauthenticated"), (by(&key, name, params), "not-permitted")]
    {
        let trail = Arc::new(CallRecord::default());
        call.context.trail = Some(Arc::clone(&trail));
        ask(&layer, call).await.unwrap_err();
        assert_eq!(trail.refusal().map(|refusal| (refusal.by, refusal.rule)), Some(("auth", rule)));
    }
}
