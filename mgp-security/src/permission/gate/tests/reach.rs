//! What reaches a server without being the call of a tool.

use mgp_types::{Object, RequestKind};

use super::*;

/// A gate to a server that needs the shell and goes on without it.
async fn degraded() -> PermissionGate {
    let book = book(&Arc::default()).await;
    let settings = PermissionSettings { on_refusal: OnRefusal::Degrade, ..policy(ApprovalPolicy::DenyAll) };
    connected(settings, &book, &["shell.execute"]).await
}

#[tokio::test]
async fn what_nobody_knows_may_use_all_that_the_server_needs_so_it_has_to_be_granted() {
    let gate = degraded().await;
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
    for name in ["tasks/get", "mgp/health/ping", "resources/list"] {
        call(&gate, Request::call(name, Params::new())).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_judged_like_a_call_needs_its_own_permissions() {
    let gate = degraded().await;
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
    let read = |path: &str| {
        let params = Object::parse(format!(r#"{{"path":"{path}"}}"#)).unwrap();
        Request::call("vendor/read", params)
    };
    call(&gate, read("/data/a")).await.unwrap();
    assert_eq!(refused(&gate, read("/etc/passwd")).await, "out_of_scope");
}
