//! The gate that answers questions about scopes, and negotiates sessions of them.

use std::sync::Arc;

use mgp_security::scope::ScopeBook;
use mgp_types::ext::ExtensionId;
use mgp_types::ext::scope::{CheckPermission, NegotiateScopes, PermissionChecked};
use mgp_types::mgp::method;
use mgp_types::{Error, Flow, Gate, Object, Request, RequestKind, Response, code};
use serde::Deserialize;

use crate::router::{CallerView, Visibility};

/// A gate that answers `mgp/permission/check`, `mgp/permission/negotiate` and `mgp/permission/refresh`.
///
/// The methods exist for clients that declare `scoped_auth`, or that speak MGP. A check says what a call would be told
/// about scopes, and nothing about tools that the caller may not call: they are unknown to it. All other requests pass
/// untouched.
#[derive(Clone)]
pub(crate) struct ScopeMethodsGate {
    pub(crate) visibility: Arc<Visibility>,
    pub(crate) scopes: ScopeBook,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScopeMethod {
    Check,
    Negotiate,
    Refresh,
}

#[derive(Deserialize)]
struct RefreshSession {
    refresh_token: Box<str>,
}

impl Gate for ScopeMethodsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        match ScopeMethod::of(request) {
            None => Flow::Pass(()),
            Some(method) => Flow::Answer(self.answer(method, request)),
        }
    }
}

impl ScopeMethod {
    /// Returns the method that a request calls, where it exists for the caller.
    fn of(request: &Request) -> Option<Self> {
        if request.kind != RequestKind::Call {
            return None;
        }
        let method = match request.method.as_str() {
            method::PERMISSION_CHECK => Self::Check,
            method::PERMISSION_NEGOTIATE => Self::Negotiate,
            method::PERMISSION_REFRESH => Self::Refresh,
            _ => return None,
        };
        let session = request.context.session.as_ref()?;
        (session.mgp.is_some() || session.extensions().has(ExtensionId::ScopedAuth)).then_some(method)
    }
}

impl ScopeMethodsGate {
    fn answer(&self, method: ScopeMethod, request: &Request) -> Result<Response, Error> {
        match method {
            ScopeMethod::Check => Response::with_body(&self.check(request)?),
            ScopeMethod::Negotiate => {
                Response::with_body(&self.scopes.negotiate(request, &request.body::<NegotiateScopes>()?)?)
            }
            ScopeMethod::Refresh => {
                let wanted: RefreshSession = request.body()?;
                Response::with_body(&self.scopes.refresh(request, &wanted.refresh_token)?)
            }
        }
    }

    /// Decides about the tool as about a call of it. The scopes that the caller believes to hold decide nothing.
    fn check(&self, request: &Request) -> Result<PermissionChecked, Error> {
        let wanted: CheckPermission = request.body()?;
        let view = CallerView::of(&self.visibility, &request.context)?;
        let snapshot = self.visibility.catalog.snapshot();
        let tool = view.asked_about(request, &snapshot, &wanted.tool)?;
        match self.scopes.check(request, &tool) {
            Ok(()) => Ok(PermissionChecked::allowed()),
            Err(error) if error.code() == code::PERMISSION_DENIED => Ok(match missing_scopes(&error) {
                Some(missing) => PermissionChecked::missing(missing),
                None => PermissionChecked::refused(error.message()),
            }),
            Err(error) => Err(error),
        }
    }
}

fn missing_scopes(error: &Error) -> Option<Vec<Box<str>>> {
    let details = Object::from_raw(&error.recovery()?.details?).ok()?;
    details.get("missing_scopes")?.to().ok()
}

#[cfg(test)]
mod tests {
    use mgp_security::definition::DefinitionKind;
    use mgp_types::mgp::{AccessGrant, AccessPermission, ExtensionSet, Negotiated, Offer};
    use mgp_types::{Principal, Revision, Session};
    use serde_json::{Value, json};

    use super::*;
    use crate::router::test_kernel::TestKernel;

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

    async fn scene() -> (TestKernel, ScopeMethodsGate) {
        let scene = TestKernel::with(SCOPED).await;
        scene.server("tracker");
        let denied = AccessGrant::new("one".into(), "tracker".into(), AccessPermission::Deny)
            .for_tool("hidden".into());
        scene.policies.access.grant(&Principal::operator("root"), None, denied).await.unwrap();
        let tools: Vec<_> = ["list", "wipe", "hidden"].map(|tool| scene.tool("tracker", tool)).into();
        let definitions: Vec<_> = tools.iter().map(|tool| tool.definition.clone()).collect();
        let server = "tracker".into();
        scene.policies.definitions.examine(&server, DefinitionKind::Tool, &definitions).unwrap();
        scene.catalog.put_server(server, tools).unwrap();
        let gate = ScopeMethodsGate {
            visibility: Arc::clone(&scene.visibility),
            scopes: scene.policies.scopes.clone(),
        };
        (scene, gate)
    }

    fn ask(gate: &ScopeMethodsGate, method: &'static str, params: &Value) -> Result<Value, Error> {
        let mut request = Request::call(method, Object::from_value(params).unwrap());
        request.context.session = Some(session("{}", true));
        request.context.principal = Some(Principal::new("one"));
        let Flow::Answer(answer) = gate.enter(&mut request) else { panic!("{method} is answered") };
        Ok(answer?.to_raw().to().unwrap())
    }

    // covers: EXT-04-04
    #[tokio::test]
    async fn what_a_client_believes_to_hold_decides_nothing() {
        let (_scene, gate) = scene().await;
        let check = |tool: &str| {
            ask(&gate, method::PERMISSION_CHECK, &json!({"tool": tool, "scopes_held": ["delete", "admin"]}))
        };
        let refused = check("tracker.wipe").unwrap();
        assert_eq!((&refused["allowed"], &refused["missing_scopes"]), (&json!(false), &json!(["delete"])));
        assert_eq!(check("tracker.list").unwrap(), json!({"allowed": true}));
        let (hidden, unknown) = (check("tracker.hidden").unwrap_err(), check("tracker.nothing").unwrap_err());
        assert_eq!((hidden.code(), unknown.code()), (code::TOOL_NOT_FOUND, code::TOOL_NOT_FOUND));
        assert_eq!(hidden.message().replace("hidden", "nothing"), unknown.message());
    }

    #[tokio::test]
    async fn a_session_decides_in_place_of_the_configuration() {
        let (_scene, gate) = scene().await;
        let wanted = json!({"requested_scopes": ["write", "delete"], "justification": "clean-up"});
        let given = ask(&gate, method::PERMISSION_NEGOTIATE, &wanted).unwrap();
        assert_eq!(given["granted_scopes"], json!(["write"]));
        assert_eq!(given["denied_scopes"][0]["scope"], "delete");
        let check = json!({"tool": "tracker.wipe", "_meta": {"session_token": given["session"]["token"]}});
        let checked = ask(&gate, method::PERMISSION_CHECK, &check).unwrap();
        assert_eq!(checked["missing_scopes"], json!(["delete", "read"]));

        let refresh = json!({"refresh_token": given["session"]["refresh_token"]});
        let renewed = ask(&gate, method::PERMISSION_REFRESH, &refresh).unwrap();
        assert_eq!(renewed["scopes"], json!(["write"]));
        let dead = ask(&gate, method::PERMISSION_CHECK, &check).unwrap_err();
        assert_eq!(dead.code(), code::AUTH_REQUIRED);
    }

    // covers: EXT-04-10
    #[tokio::test]
    async fn a_session_that_nobody_uses_ends_and_one_in_use_goes_on() {
        let (_scene, gate) = scene().await;
        let open = || {
            let wanted = json!({"requested_scopes": ["read"], "ttl_seconds": 86_400});
            ask(&gate, method::PERMISSION_NEGOTIATE, &wanted).unwrap()["session"].clone()
        };
        let check = |session: &Value| {
            let token = json!({"session_token": session["token"]});
            ask(&gate, method::PERMISSION_CHECK, &json!({"tool": "tracker.list", "_meta": token}))
        };
        let (used, idle) = (open(), open());
        let seconds = used["inactivity_timeout_seconds"].as_u64().unwrap();
        assert_eq!(seconds, 1800);
        tokio::time::pause();
        for _ in 0..2 {
            tokio::time::advance(std::time::Duration::from_secs(seconds - 1)).await;
            assert_eq!(check(&used).unwrap(), json!({"allowed": true}));
        }
        assert_eq!(check(&idle).unwrap_err().code(), code::AUTH_EXPIRED);
        tokio::time::advance(std::time::Duration::from_secs(seconds)).await;
        assert_eq!(check(&used).unwrap_err().code(), code::AUTH_EXPIRED);
    }

    #[tokio::test]
    async fn the_methods_exist_for_clients_of_the_extension_and_of_mgp() {
        let (_scene, gate) = scene().await;
        let extension = format!(r#"{{"extensions":{{"{}":{{}}}}}}"#, ExtensionId::ScopedAuth.id());
        for (capabilities, speaks, exists) in
            [("{}", false, false), (&*extension, false, true), ("{}", true, true)]
        {
            let mut request =
                Request::call(method::PERMISSION_CHECK, Object::parse(r#"{"tool":"x"}"#).unwrap());
            request.context.session = Some(session(capabilities, speaks));
            request.context.principal = Some(Principal::new("one"));
            assert_eq!(
                matches!(gate.enter(&mut request), Flow::Answer(_)),
                exists,
                "{capabilities} {speaks}"
            );
        }
    }

    #[tokio::test]
    async fn other_scopes_hold_as_soon_as_the_configuration_is_read_anew() {
        let (scene, gate) = scene().await;
        let check = json!({"tool": "tracker.wipe"});
        let wanted = SCOPED.replace(r#"["read","write"]"#, r#"["read","delete"]"#);
        scene.reload.reconfigure(serde_json::from_str(&wanted).unwrap()).await.unwrap();
        assert_eq!(scene.policies.scopes.held(&Request::default()).unwrap_err().code(), code::AUTH_REQUIRED);
        // The reload takes the servers of the test away, and their tools with them, so the scopes are looked at.
        let mut request = Request::call(method::PERMISSION_CHECK, Object::from_value(&check).unwrap());
        request.context.principal = Some(Principal::new("one"));
        let held = scene.policies.scopes.held(&request).unwrap().unwrap();
        assert_eq!(held.to_string(), "delete read");
        drop(gate);
    }
}
