//! Questions about scopes, and sessions of them.

use mgp_types::ext::scope::{CheckPermission, NegotiateScopes, PermissionChecked};
use mgp_types::{Error, Object, Request, Response, code};
use serde::Deserialize;

use crate::visibility::{CallerView, Visibility};

/// Answers `mgp/permission/check` with what a call of the tool would be told about scopes, and nothing about tools that the
/// caller may not call: they are unknown to it. The scopes that the caller believes to hold decide nothing.
pub(crate) fn check(visibility: &Visibility, request: &Request) -> Result<Response, Error> {
    let wanted: CheckPermission = request.body()?;
    let view = CallerView::of(visibility, &request.context)?;
    let snapshot = visibility.catalog.snapshot();
    let tool = view.asked_about(request, &snapshot, &wanted.tool)?;
    Response::with_body(&match visibility.policies.scopes.check(request, &tool) {
        Ok(()) => PermissionChecked::allowed(),
        Err(error) if error.code() == code::PERMISSION_DENIED => match missing_scopes(&error) {
            Some(missing) => PermissionChecked::missing(missing),
            None => PermissionChecked::refused(error.message()),
        },
        Err(error) => return Err(error),
    })
}

/// Answers `mgp/permission/negotiate`.
pub(crate) fn negotiate(visibility: &Visibility, request: &Request) -> Result<Response, Error> {
    Response::with_body(&visibility.policies.scopes.negotiate(request, &request.body::<NegotiateScopes>()?)?)
}

/// Answers `mgp/permission/refresh`.
pub(crate) fn refresh(visibility: &Visibility, request: &Request) -> Result<Response, Error> {
    let wanted: RefreshSession = request.body()?;
    Response::with_body(&visibility.policies.scopes.refresh(request, &wanted.refresh_token)?)
}

#[derive(Deserialize)]
struct RefreshSession {
    refresh_token: Box<str>,
}

fn missing_scopes(error: &Error) -> Option<Vec<Box<str>>> {
    let details = Object::from_raw(&error.recovery()?.details?).ok()?;
    details.get("missing_scopes")?.to().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mgp_security::definition::DefinitionKind;
    use mgp_types::ext::ExtensionId;
    use mgp_types::mgp::{AccessGrant, AccessPermission, ExtensionSet, Negotiated, Offer, method};
    use mgp_types::{Principal, Revision, Session};
    use serde_json::{Value, json};
    use tower_service::Service as _;

    use super::*;
    use crate::test_kernel::TestKernel;

    const SCOPED: &str = r#"{"access":{"default":"opt-out"},
        "agents":[{"id":"one","scopes":["read","write"]}],
        "servers":[{"id":"tracker","command":"x","tools":{"wipe":{"required_scopes":["delete","read"]}}}]}"#;

    fn session(capabilities: &str, speaks: bool) -> Arc<Session> {
        let mut session = Session::new(Revision::LATEST);
        session.capabilities = Object::parse(capabilities.to_owned()).unwrap();
        let offer = Offer::new(ExtensionSet::standard());
        session.mgp = Negotiated::agree(&offer, &offer).filter(|_| speaks);
        Arc::new(session)
    }

    async fn scene() -> TestKernel {
        let scene = TestKernel::with(SCOPED).await;
        scene.server("tracker").await;
        let denied = AccessGrant::new("one".into(), "tracker".into(), AccessPermission::Deny)
            .for_tool("hidden".into());
        scene.policies.access.grant(&Principal::operator("root"), None, denied).await.unwrap();
        let tools: Vec<_> = ["list", "wipe", "hidden"].map(|tool| scene.tool("tracker", tool)).into();
        let definitions: Vec<_> = tools.iter().map(|tool| tool.definition.clone()).collect();
        let server = "tracker".into();
        scene.policies.definitions.examine(&server, DefinitionKind::Tool, &definitions).unwrap();
        scene.catalog.put_server(server, tools).unwrap();
        scene
    }

    fn asking(method: &'static str, params: &Value, session: Arc<Session>) -> Request {
        let mut request = Request::call(method, Object::from_value(params).unwrap());
        request.context.session = Some(session);
        request.context.principal = Some(Principal::new("one"));
        request
    }

    async fn ask(scene: &TestKernel, method: &'static str, params: &Value) -> Result<Value, Error> {
        let answer = scene.router.clone().call(asking(method, params, session("{}", true))).await;
        Ok(answer?.to_raw().to().unwrap())
    }

    // covers: EXT-04-04
    #[tokio::test]
    async fn what_a_client_believes_to_hold_decides_nothing() {
        let scene = scene().await;
        let check = async |tool: &str| {
            let wanted = json!({"tool": tool, "scopes_held": ["delete", "admin"]});
            ask(&scene, method::PERMISSION_CHECK, &wanted).await
        };
        let refused = check("tracker.wipe").await.unwrap();
        assert_eq!((&refused["allowed"], &refused["missing_scopes"]), (&json!(false), &json!(["delete"])));
        assert_eq!(check("tracker.list").await.unwrap(), json!({"allowed": true}));
        let (hidden, unknown) =
            (check("tracker.hidden").await.unwrap_err(), check("tracker.nothing").await.unwrap_err());
        assert_eq!((hidden.code(), unknown.code()), (code::TOOL_NOT_FOUND, code::TOOL_NOT_FOUND));
        assert_eq!(hidden.message().replace("hidden", "nothing"), unknown.message());
    }

    #[tokio::test]
    async fn a_session_decides_in_place_of_the_configuration() {
        let scene = scene().await;
        let wanted = json!({"requested_scopes": ["write", "delete"], "justification": "clean-up"});
        let given = ask(&scene, method::PERMISSION_NEGOTIATE, &wanted).await.unwrap();
        assert_eq!(given["granted_scopes"], json!(["write"]));
        assert_eq!(given["denied_scopes"][0]["scope"], "delete");
        let check = json!({"tool": "tracker.wipe", "_meta": {"session_token": given["session"]["token"]}});
        let checked = ask(&scene, method::PERMISSION_CHECK, &check).await.unwrap();
        assert_eq!(checked["missing_scopes"], json!(["delete", "read"]));

        let refresh = json!({"refresh_token": given["session"]["refresh_token"]});
        let renewed = ask(&scene, method::PERMISSION_REFRESH, &refresh).await.unwrap();
        assert_eq!(renewed["scopes"], json!(["write"]));
        let dead = ask(&scene, method::PERMISSION_CHECK, &check).await.unwrap_err();
        assert_eq!(dead.code(), code::AUTH_REQUIRED);
    }

    // covers: EXT-04-10
    #[tokio::test]
    async fn a_session_that_nobody_uses_ends_and_one_in_use_goes_on() {
        let scene = scene().await;
        let open = async || {
            let wanted = json!({"requested_scopes": ["read"], "ttl_seconds": 86_400});
            ask(&scene, method::PERMISSION_NEGOTIATE, &wanted).await.unwrap()["session"].clone()
        };
        let check = async |session: &Value| {
            let token = json!({"session_token": session["token"]});
            ask(&scene, method::PERMISSION_CHECK, &json!({"tool": "tracker.list", "_meta": token})).await
        };
        let (used, idle) = (open().await, open().await);
        let seconds = used["inactivity_timeout_seconds"].as_u64().unwrap();
        assert_eq!(seconds, 1800);
        tokio::time::pause();
        for _ in 0..2 {
            tokio::time::advance(std::time::Duration::from_secs(seconds - 1)).await;
            assert_eq!(check(&used).await.unwrap(), json!({"allowed": true}));
        }
        assert_eq!(check(&idle).await.unwrap_err().code(), code::AUTH_EXPIRED);
        tokio::time::advance(std::time::Duration::from_secs(seconds)).await;
        assert_eq!(check(&used).await.unwrap_err().code(), code::AUTH_EXPIRED);
    }

    #[tokio::test]
    async fn the_methods_exist_for_clients_of_the_extension_and_of_mgp() {
        let scene = scene().await;
        let extension = format!(r#"{{"extensions":{{"{}":{{}}}}}}"#, ExtensionId::ScopedAuth.id());
        for (capabilities, speaks, exists) in
            [("{}", false, false), (&*extension, false, true), ("{}", true, true)]
        {
            let request =
                asking(method::PERMISSION_CHECK, &json!({"tool": "x"}), session(capabilities, speaks));
            let error = scene.router.clone().call(request).await.unwrap_err();
            assert_eq!(error.code() != code::METHOD_NOT_FOUND, exists, "{capabilities} {speaks}");
        }
    }

    #[tokio::test]
    async fn other_scopes_hold_as_soon_as_the_configuration_is_read_anew() {
        let scene = scene().await;
        let check = json!({"tool": "tracker.wipe"});
        let wanted = SCOPED.replace(r#"["read","write"]"#, r#"["read","delete"]"#);
        scene.sections.reconfigure(serde_json::from_str(&wanted).unwrap()).await.unwrap();
        assert_eq!(scene.policies.scopes.held(&Request::default()).unwrap_err().code(), code::AUTH_REQUIRED);
        // The reload takes the servers of the test away, and their tools with them, so the scopes are looked at.
        let mut request = Request::call(method::PERMISSION_CHECK, Object::from_value(&check).unwrap());
        request.context.principal = Some(Principal::new("one"));
        let held = scene.policies.scopes.held(&request).unwrap().unwrap();
        assert_eq!(held.to_string(), "delete read");
    }
}
