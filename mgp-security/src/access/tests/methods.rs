use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::AccessPermission::Allow;
use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};
use mgp_types::{Gate, Method, Object, Revision, Session, code};

use super::*;
use crate::access::AccessMethodsGate;

fn session(extensions: &[&str]) -> Arc<Session> {
    let offer = Offer::new(ExtensionSet::from_names(extensions));
    let mut session = Session::new(Revision::LATEST);
    session.mgp = Negotiated::agree(&offer, &offer);
    Arc::new(session)
}

fn request(by: Option<Principal>, method: &str, params: &str) -> Request {
    let mut request = Request::call(method, Object::parse(params.to_owned()).unwrap());
    request.context.session = Some(session(&["access_control"]));
    request.context.principal = by;
    request
}

async fn ask(policy: &AccessPolicy, request: Request) -> Result<Object, Error> {
    let layer = AccessMethodsGate::new(policy.clone());
    let response = layer.layer(TestServer::new()).call(request).await?;
    Ok(Object::from_raw(&response.to_raw()).unwrap())
}

const GRANT: &str = concat!(
    r#"{"entry_type":"server_grant","agent_id":"agent.cloto_default","server_id":"mind.cerebras","#,
    r#""tool_name":null,"permission":"allow","granted_by":"somebody","#,
    r#""justification":"Required for agent reasoning","expires_at":null}"#
);
const QUERY: &str = r#"{"agent_id":"agent.cloto_default","server_id":"mind.cerebras","tool_name":"think"}"#;
const REVOKE: &str =
    r#"{"agent_id":"agent.cloto_default","server_id":"mind.cerebras","entry_type":"server_grant"}"#;

// covers: MGP-5.4-01, MGP-5.4-05..07, MGP-5.4-10, MGP-5.4-19, MGP-5.4-20, MGP-5.4-24
#[tokio::test]
async fn the_three_methods_of_the_specification_are_served() {
    let policy = policy();
    let granted = ask(&policy, request(Some(admin()), "mgp/access/grant", GRANT)).await.unwrap();
    assert_eq!(granted.text("status").as_deref(), Some("granted"));
    assert_eq!(granted.bytes("id"), Some(&b"1"[..]));
    assert_eq!(granted.text("granted_by").as_deref(), Some("admin"));
    let entry = Object::from_raw(&granted.get("entry").unwrap()).unwrap();
    assert_eq!(entry.text("granted_by_label").as_deref(), Some("somebody"));
    assert_eq!(entry.text("entry_type").as_deref(), Some("server_grant"));
    assert_eq!(entry.bytes("id"), Some(&b"1"[..]));

    let state = ask(&policy, request(Some(admin()), "mgp/access/query", QUERY)).await.unwrap();
    let names: Vec<_> = state.iter().map(|(name, _)| name.into_owned()).collect();
    assert_eq!(names, ["permission", "source", "granted_by", "granted_at", "expires_at"]);
    assert_eq!(state.text("permission").as_deref(), Some("allow"));
    assert_eq!(state.text("source").as_deref(), Some("server_grant"));

    let revoked = ask(&policy, request(Some(admin()), "mgp/access/revoke", REVOKE)).await.unwrap();
    assert_eq!(revoked.text("status").as_deref(), Some("revoked"));
    assert_eq!(revoked.bytes("deleted_count"), Some(&b"1"[..]));
    let again = ask(&policy, request(Some(admin()), "mgp/access/revoke", REVOKE)).await.unwrap();
    assert_eq!(again.bytes("deleted_count"), Some(&b"0"[..]));

    let state = ask(&policy, request(Some(admin()), "mgp/access/query", QUERY)).await.unwrap();
    assert_eq!(
        state.to_raw().as_bytes(),
        br#"{"permission":"deny","source":"default_policy","granted_by":null,"granted_at":null,"expires_at":null}"#
    );
}

// covers: MGP-5.1-01
#[tokio::test]
async fn the_same_are_served_as_tools() {
    let policy = policy();
    for (name, arguments, member) in [
        ("mgp.access.grant", GRANT, "granted_by"),
        ("mgp/access/query", QUERY, "permission"),
        ("mgp_access_query", QUERY, "permission"),
        ("mgp.access.query", QUERY, "permission"),
        ("mgp_access_revoke", REVOKE, "deleted_count"),
    ] {
        let params = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
        let mut request = request(Some(admin()), "tools/call", &params);
        request.context.session = None; // Tools are plain MCP and need no extension.
        let result = ask(&policy, request).await.unwrap();
        let structured = Object::from_raw(&result.get("structuredContent").unwrap()).unwrap();
        assert!(structured.contains(member), "{name}");
        let content: Vec<Object> = result.get("content").unwrap().to().unwrap();
        assert_eq!(content[0].text("text").unwrap().as_bytes(), structured.to_raw().as_bytes(), "{name}");
    }
}

#[tokio::test]
async fn an_agent_can_neither_grant_nor_revoke_in_any_form() {
    let policy = policy();
    let agent = || Some(Principal::new("agent.cloto_default"));
    for name in ["mgp.access.grant", "mgp/access/grant", "mgp_access_grant", "mgp.access.revoke"] {
        let params = format!(r#"{{"name":"{name}","arguments":{GRANT}}}"#);
        let error = ask(&policy, request(agent(), "tools/call", &params)).await.unwrap_err();
        assert_eq!(error.code(), code::PERMISSION_DENIED, "{name}");
    }
    for method in ["mgp/access/grant", "mgp/access/revoke"] {
        for params in [GRANT, "{}"] {
            let error = ask(&policy, request(agent(), method, params)).await.unwrap_err();
            assert_eq!(error.code(), code::PERMISSION_DENIED, "{method} {params}");
        }
    }
    assert!(ask(&policy, request(agent(), "mgp/access/query", QUERY)).await.is_ok());
    let other = ask(&policy, request(Some(Principal::new("b")), "mgp/access/query", QUERY)).await;
    assert_eq!(other.unwrap_err().code(), code::ACCESS_DENIED);
    assert_eq!(
        ask(&policy, request(None, "mgp/access/query", QUERY)).await.unwrap_err().code(),
        code::AUTH_REQUIRED
    );
}

#[tokio::test]
async fn where_access_control_was_not_negotiated_the_methods_do_not_exist() {
    let policy = policy();
    for session in [None, Some(session(&["audit"])), Some(Arc::new(Session::new(Revision::LATEST)))] {
        let mut request = request(Some(admin()), "mgp/access/grant", GRANT);
        request.context.session = session;
        assert_eq!(ask(&policy, request).await.unwrap_err().code(), code::METHOD_NOT_FOUND);
    }
    assert!(!policy.decide("agent.cloto_default", "mind.cerebras", None).allows());
}

#[tokio::test]
async fn nothing_is_changed_by_a_notification() {
    let policy = policy();
    let mut request = request(Some(admin()), "mgp/access/grant", GRANT);
    request.kind = mgp_types::RequestKind::Notify;
    assert_eq!(ask(&policy, request).await.unwrap_err().code(), code::INVALID_REQUEST);
    assert!(!policy.decide("agent.cloto_default", "mind.cerebras", None).allows());
}

// covers: MGP-5.4-14, MGP-5.4-23
#[tokio::test]
async fn parameters_that_do_not_fit_are_refused() {
    let policy = policy();
    for (method, params) in [
        ("mgp/access/grant", GRANT.replace("server_grant", "tool_grant")),
        ("mgp/access/grant", GRANT.replace(r#""tool_name":null"#, r#""tool_name":"think""#)),
        ("mgp/access/grant", GRANT.replace(r#""expires_at":null"#, r#""expires_at":"tomorrow""#)),
        ("mgp/access/grant", GRANT.replace(r#""allow""#, r#""ALLOW""#)),
        ("mgp/access/grant", GRANT.replace("agent_id", "agent")),
        ("mgp/access/revoke", REVOKE.replace("server_grant", "tool_grant")),
        ("mgp/access/revoke", "{}".to_owned()),
        ("mgp/access/query", "{}".to_owned()),
    ] {
        let error = ask(&policy, request(Some(admin()), method, &params)).await.unwrap_err();
        assert_eq!(error.code(), code::INVALID_PARAMS, "{method} {params}");
    }
    // A model reads it in the result.
    for params in [r#"{"name":"mgp.access.query","arguments":[]}"#, r#"{"name":"mgp.access.query"}"#] {
        let answer = ask(&policy, request(Some(admin()), "tools/call", params)).await.unwrap();
        assert!(answer.to_raw().to::<CallToolResult>().unwrap().is_error(), "{params}");
    }
}

#[tokio::test]
async fn everything_else_passes_on() {
    let policy = policy();
    policy.grant(&admin(), None, grant("a", "s", None, Allow)).await.unwrap();
    let echo = TestServer::new();
    for (method, params) in [
        (Method::TOOLS_CALL.as_str(), r#"{"name":"access.grant"}"#),
        ("tools/call", r#"{"name":"mgp.access.list"}"#),
        ("tools/call", "{}"),
        ("mgp/access/list", "{}"),
        ("mgp/health/ping", "{}"),
    ] {
        let mut service = AccessMethodsGate::new(policy.clone()).layer(echo.clone());
        service.call(request(None, method, params)).await.unwrap();
    }
    assert_eq!(echo.seen.lock().len(), 5);
}
