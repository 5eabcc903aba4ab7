use mgp_types::mgp::AccessPermission::{Allow, Deny};
use mgp_types::mgp::{CallRecord, EffectiveSecurity, ResolvedTool, RiskLevel};
use mgp_types::{CacheHint, CacheScope, Flow, Gate, Method, Object, RawJson, code, gates};

use super::*;
use crate::access::AccessGate;

async fn sample() -> AccessPolicy {
    let policy = policy();
    policy.grant(&admin(), None, grant("a", "s", Some("t"), Allow)).await.unwrap();
    policy.grant(&admin(), None, grant("whole", "s", None, Allow)).await.unwrap();
    policy.grant(&admin(), None, grant("whole", "s", Some("bad"), Deny)).await.unwrap();
    policy
}

fn from(agent: &str, method: &str, params: &str) -> Request {
    let mut request = Request::call(method, Object::parse(params.to_owned()).unwrap());
    request.context.principal = Some(Principal::new(agent));
    request
}

fn call(agent: &str, tool: &str) -> Request {
    from(agent, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{{}}}}"#))
}

/// Returns a call of `tool` by `a` that was resolved as one of the tool `u`.
fn resolved_as_u(tool: &str) -> Request {
    let (mut request, security) = (call("a", tool), EffectiveSecurity::new(RiskLevel::Safe));
    request.context.tool = Some(ResolvedTool::new("s".into(), "u".into(), Object::new(), security));
    request
}

async fn ask(layer: &AccessGate, request: Request) -> Result<Response, Error> {
    layer.layer(TestServer::new()).call(request).await
}

// covers: MGP-5.1-01, MGP-5.3-01, MGP-5.3-02
#[tokio::test]
async fn a_call_reaches_the_server_only_if_the_agent_may() {
    let layer = AccessGate::new(sample().await).for_server("s".into());
    for (agent, tool, may) in [
        ("a", "t", true),
        ("a", "u", false),
        ("whole", "u", true),
        ("whole", "bad", false),
        ("nobody", "t", false),
        ("a", "T", false),
        ("a", r"\u0074", true),
    ] {
        let echo = TestServer::new();
        let outcome = layer.layer(echo.clone()).call(call(agent, tool)).await;
        assert_eq!(outcome.is_ok(), may, "{agent} {tool}");
        assert_eq!(echo.seen.lock().len(), usize::from(may), "{agent} {tool}");
    }
}

#[tokio::test]
async fn the_default_does_not_hold_for_operators_and_a_denial_does() {
    let policy = policy();
    let gate = AccessGate::new(policy.clone()).for_server("s".into());
    let by_operator = || {
        let mut request = call("a", "t");
        request.context.principal = Some(admin());
        request
    };
    assert!(ask(&gate, by_operator()).await.is_ok());
    assert!(ask(&gate, call("a", "t")).await.is_err(), "an agent needs access");
    policy.grant(&admin(), None, grant(&admin().access_id(), "s", Some("t"), Deny)).await.unwrap();
    assert!(ask(&gate, by_operator()).await.is_err());
}

/// Has a request wait until there is a permit, like a person who takes a while to decide.
#[derive(Clone)]
struct Wait(Arc<tokio::sync::Semaphore>);

impl Gate for Wait {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let (permits, request) = (Arc::clone(&self.0), request.take());
        Flow::wait(async move {
            permits.acquire().await.unwrap().forget();
            (request, Flow::Pass(()))
        })
    }
}

#[tokio::test]
async fn access_that_is_taken_away_while_a_call_waits_for_another_gate_is_gone() {
    let policy = sample().await;
    let decided = Arc::new(tokio::sync::Semaphore::new(0));
    let gates = gates![AccessGate::new(policy.clone()).for_server("s".into()), Wait(Arc::clone(&decided))];
    let server = TestServer::new();
    for (revoked, reached) in [(false, 1), (true, 1)] {
        let waiting = tokio::spawn(gates.layer(server.clone()).call(call("a", "t")));
        if revoked {
            policy.revoke(&admin(), None, revoke("a", "s", Some("t"))).await.unwrap();
        }
        decided.add_permits(1);
        assert_eq!(waiting.await.unwrap().map_err(|error| error.code()).err(), revoked.then_some(1001));
        assert_eq!(server.seen.lock().len(), reached);
    }
}

#[tokio::test]
async fn a_refusal_does_not_tell_whether_there_is_such_a_tool() {
    let resolved = AccessGate::new(sample().await);
    let existing = resolved_as_u("u");
    let existing = ask(&resolved, existing).await.unwrap_err();
    let missing = ask(&resolved, call("a", "no such tool")).await.unwrap_err();
    let describe = |error: &Error| (error.code(), error.message().to_owned(), error.wire_data());
    assert_eq!(describe(&existing), describe(&missing));
    assert_eq!(existing.code(), code::ACCESS_DENIED);
    assert_eq!(existing.recovery().unwrap().retryable, Some(false));
}

#[tokio::test]
async fn without_a_principal_nothing_passes_but_the_session() {
    let layer = AccessGate::new(sample().await).for_server("s".into());
    for (method, passes) in [
        ("initialize", true),
        ("ping", true),
        ("server/discover", true),
        ("notifications/cancelled", true),
        ("notifications/vendor", false),
        ("logging/setLevel", false),
        ("tools/list", false),
        ("tools/call", false),
        ("resources/read", false),
        ("vendor/thing", false),
        ("mgp/events/subscribe", false),
    ] {
        let method = Method::new(method);
        let send: fn(Method, Object) -> Request =
            if method.is_notification() { Request::notify } else { Request::call };
        let outcome = ask(&layer, send(method.clone(), Object::new())).await;
        assert_eq!(outcome.is_ok(), passes, "{method}");
        assert!(outcome.err().is_none_or(|error| error.code() == code::AUTH_REQUIRED), "{method}");
    }
}

#[tokio::test]
async fn what_is_no_call_of_a_tool_needs_the_server() {
    let layer = AccessGate::new(sample().await).for_server("s".into());
    for method in [
        "resources/read", "resources/list", "prompts/get", "completion/complete", "vendor/x",
        "mgp/lifecycle/shutdown", "notifications/progress",
    ] {
        assert!(ask(&layer, from("whole", method, "{}")).await.is_ok(), "{method}");
        assert!(ask(&layer, from("a", method, "{}")).await.is_err(), "{method}");
    }
    for method in ["tasks/get", "subscriptions/listen", "mgp/stream/cancel", "logging/setLevel"] {
        assert!(ask(&layer, from("a", method, "{}")).await.is_ok(), "{method}");
        assert!(ask(&layer, from("nobody", method, "{}")).await.is_err(), "{method}");
    }
}

#[tokio::test]
async fn a_notification_is_held_to_the_same() {
    let layer = AccessGate::new(sample().await).for_server("s".into());
    let mut request = Request::notify("tools/call", Object::parse(r#"{"name":"u"}"#).unwrap());
    request.context.principal = Some(Principal::new("a"));
    assert_eq!(ask(&layer, request).await.unwrap_err().code(), code::ACCESS_DENIED);
}

#[tokio::test]
async fn what_nobody_resolved_is_refused_and_what_is_for_this_process_passes() {
    let layer = AccessGate::new(sample().await);
    for method in ["tools/call", "tools/list", "resources/list", "vendor/x"] {
        let error = ask(&layer, from("whole", method, r#"{"name":"t"}"#)).await.unwrap_err();
        assert_eq!(error.code(), code::ACCESS_DENIED, "{method}");
    }
    for method in ["mgp/tools/discover", "logging/setLevel"] {
        assert!(ask(&layer, from("a", method, "{}")).await.is_ok(), "{method}");
    }
}

#[tokio::test]
async fn a_call_without_a_name_is_refused() {
    let layer = AccessGate::new(sample().await).for_server("s".into());
    for params in ["{}", r#"{"name":""}"#, r#"{"name":null}"#, r#"{"name":["t"]}"#] {
        let error = ask(&layer, from("whole", "tools/call", params)).await.unwrap_err();
        assert_eq!(error.code(), code::INVALID_PARAMS, "{params}");
    }
}

#[tokio::test]
async fn what_was_resolved_decides_and_not_the_name_in_the_body() {
    let layer = AccessGate::new(sample().await).for_server("s".into());
    assert!(ask(&layer, resolved_as_u("t")).await.is_err());
}

#[tokio::test]
async fn the_trail_learns_the_target_and_the_reason() {
    let layer = AccessGate::new(sample().await).for_server("s".into());
    for (agent, tool, rule) in [("a", "u", "not-granted"), ("whole", "bad", "denied")] {
        let mut request = call(agent, tool);
        let trail = Arc::new(CallRecord::default());
        request.context.trail = Some(Arc::clone(&trail));
        ask(&layer, request).await.unwrap_err();
        let (server, named) = trail.target().unwrap();
        assert_eq!((server.as_str(), named.unwrap().as_str()), ("s", tool));
        assert_eq!(trail.refusal().map(|refusal| (refusal.by, refusal.rule)), Some(("access", rule)));
    }
}

async fn list(agent: &str, answer: Response) -> Result<Response, Error> {
    let layer = AccessGate::new(sample().await).for_server("s".into());
    let echo = TestServer::answering(move |_| Ok(answer.clone()));
    layer.layer(echo).call(from(agent, Method::TOOLS_LIST.as_str(), "{}")).await
}

fn answer(json: &str) -> Response {
    Response::new(RawJson::parse(json.to_owned()).unwrap())
}

#[tokio::test]
async fn a_list_holds_only_what_may_be_called_in_the_bytes_it_came_in() {
    let json = r#"{"tools":[{"name":"t", "x": 1.0},{"name":"u"}, 7, {}, {"name":"bad"}],"nextCursor":"c"}"#;
    let kept = |outcome: Response| String::from_utf8(outcome.to_raw().as_bytes().to_vec()).unwrap();
    let of_a = kept(list("a", answer(json)).await.unwrap());
    assert_eq!(of_a, r#"{"tools":[{"name":"t", "x": 1.0}],"nextCursor":"c"}"#);
    let of_whole = kept(list("whole", answer(json)).await.unwrap());
    assert_eq!(of_whole, r#"{"tools":[{"name":"t", "x": 1.0},{"name":"u"}],"nextCursor":"c"}"#);
    assert_eq!(kept(list("nobody", answer(json)).await.unwrap()), r#"{"tools":[],"nextCursor":"c"}"#);
    let all = r#"{ "tools" : [ {"name":"t"} ] }"#;
    assert_eq!(kept(list("a", answer(all)).await.unwrap()), all);
}

#[tokio::test]
async fn a_list_that_was_filtered_is_nobody_elses() {
    let mut public = answer(r#"{"tools":[{"name":"t"}],"cacheScope":"public"}"#);
    public.context.cache = Some(CacheHint { ttl_ms: 1, scope: CacheScope::Public });
    let private = list("a", public.clone()).await.unwrap();
    assert_eq!(private.result.as_bytes(), br#"{"tools":[{"name":"t"}],"cacheScope":"private"}"#);
    assert_eq!(private.context.cache.unwrap().scope, CacheScope::Private);
    let mut stamped = answer(r#"{"tools":[{"name":"t"},{"name":"u"}]}"#);
    stamped.context.stamp = Some(bytes::Bytes::from_static(br#""cacheScope":"public""#));
    let private = list("a", stamped).await.unwrap().to_raw();
    assert_eq!(private.as_bytes(), br#"{"cacheScope":"private","tools":[{"name":"t"}]}"#);
}

#[tokio::test]
async fn a_list_that_is_none_does_not_pass() {
    for json in [r#"{"tools":{}}"#, r#"{"tools":"t"}"#, "[]"] {
        assert!(list("a", answer(json)).await.is_err(), "{json}");
    }
    assert_eq!(list("a", answer(r#"{"other":1}"#)).await.unwrap().result.as_bytes(), br#"{"other":1}"#);
}
