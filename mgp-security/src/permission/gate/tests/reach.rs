//! What reaches a server without being the call of a tool.

use mgp_types::{Object, RequestKind};

use super::*;

/// Returns a gate to a server that needs the shell, which it was granted, and the book of its grants.
async fn granted() -> (GrantBook, PermissionGate) {
    let book = book(&Arc::default()).await;
    book.grant(&ada(), None, &"s".into(), &SHELL, GrantTerms::default()).await.unwrap();
    let gate = connected(policy(ApprovalPolicy::DenyAll), &book, &["shell.execute"]).await;
    (book, gate)
}

#[tokio::test]
async fn what_nobody_knows_may_use_all_that_the_server_needs_so_it_has_to_be_granted() {
    let (book, gate) = granted().await;
    call(&gate, Request::call("vendor/run", Params::new())).await.unwrap();
    book.revoke(&ada(), None, gate.server(), &SHELL).await.unwrap();
    for name in ["vendor/run", "mgp/lifecycle/unheard", "mgp/health/x", "mgp/events/x", "mgp/stream/open"] {
        assert_eq!(refused(&gate, Request::call(name, Params::new())).await, "denied", "{name}");
    }
    for name in ["notifications/vendor.run", "vendor/run", "notifications/unheard"] {
        assert_eq!(refused(&gate, Request::notify(name, Params::new())).await, "denied", "{name}");
    }
    let mut disguised = Request::notify("notifications/progress", Params::new());
    call(&gate, disguised.clone()).await.unwrap();
    disguised.kind = RequestKind::Call;
    assert_eq!(refused(&gate, disguised).await, "denied", "a call by the name of a notification");
    for name in ["mgp/health/ping", "resources/list"] {
        call(&gate, Request::call(name, Params::new())).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_judged_like_a_call_needs_its_own_permissions() {
    let (_, gate) = granted().await;
    for name in ["prompts/get", "completion/complete", "resources/read", "subscriptions/listen", "vendor/run"]
    {
        let request = Request::call(name, Params::new());
        call(&gate, resolved(request.clone(), &[], "{}")).await.unwrap();
        assert_eq!(refused(&gate, resolved(request, &[READ], "{}")).await, "denied", "{name}");
    }
    let unresolved = call(&gate, Request::call("resources/read", Params::new())).await.unwrap_err();
    assert_eq!(unresolved.code(), code::INVALID_REQUEST);
}

#[tokio::test]
async fn what_nobody_knows_is_held_to_the_scope_with_all_its_parameters() {
    let book = book(&Arc::default()).await;
    let scope: Scope = serde_json::from_str(r#"{"paths":["/data/**"]}"#).unwrap();
    let settings = policy(ApprovalPolicy::DenyAll)
        .with_grant(READ, GrantTerms { scope: Some(Box::new(scope)), ..GrantTerms::default() })
        .unwrap();
    let gate = connected(settings, &book, &["filesystem.read"]).await;
    let read = |method: &'static str, path: &str| {
        let params = Object::parse(format!(r#"{{"path":"{path}"}}"#)).unwrap();
        Request::call(method, params)
    };
    call(&gate, read("vendor/read", "/data/a")).await.unwrap();
    assert_eq!(refused(&gate, read("vendor/read", "/etc/passwd")).await, "out_of_scope");
    call(&gate, read("tasks/get", "/etc/passwd")).await.unwrap();
}
