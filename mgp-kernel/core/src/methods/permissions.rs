//! The methods by which clients settle permissions with the kernel as they would with a server.

use mgp_security::Clock;
use mgp_security::permission::{GrantBook, GrantRecord, GrantVerdict, HeldPermissionsGate};
use mgp_types::mgp::{Decision, Grant, Permission, PermissionResponse, ServerId, method};
use mgp_types::{Error, Flow, Gate, Request, Response};

use crate::lifecycle::KERNEL;

/// The methods by which clients settle permissions with the kernel as they would with any server (§3.4–§3.6).
///
/// `mgp/permission/request` is answered at once: with what the kernel's operators decided about the kernel itself as a
/// server, then with what the client told before, and deferred for all else. The answers that the client gives by
/// `mgp/permission/response` are kept for its session and give it nothing: what servers may do is not for clients to
/// decide. The newer names of both methods are served alike. Where permissions were not negotiated none of them exists.
#[derive(Clone)]
pub(crate) struct PermissionMethods {
    grants: GrantBook,
    clock: Clock,
    held: HeldPermissionsGate,
}

impl PermissionMethods {
    pub(crate) fn new(grants: GrantBook, clock: Clock) -> Self {
        let held = HeldPermissionsGate::new(clock.clone());
        Self { grants, clock, held }
    }

    /// Answers one of these methods.
    pub(crate) fn answer(&self, request: &mut Request) -> Flow {
        let asks = [method::PERMISSION_REQUEST, method::PERMISSION_AWAIT].contains(&request.method.as_str());
        match self.held.enter(request) {
            Flow::Answer(answer) if asks => Flow::Answer(answer.and_then(|answer| self.decided(&answer))),
            flow => flow,
        }
    }

    /// Returns the answer to the client, with what the kernel's operators decided.
    fn decided(&self, answer: &Response) -> Result<Response, Error> {
        let mut response: PermissionResponse =
            answer.to_raw().to().map_err(|error| Error::internal("the answer is none").with_source(error))?;
        let kernel = ServerId::from(KERNEL);
        let records = self.grants.records(&kernel);
        for (name, grant) in &mut response.grants {
            let permission = Permission::read(name);
            let is_it = |record: &&GrantRecord| record.agent.is_none() && record.permission == permission;
            let Some(GrantRecord { verdict, approver, .. }) = records.iter().find(is_it) else { continue };
            match verdict {
                GrantVerdict::Denied { until } if until.is_some_and(|end| end <= self.clock.now()) => {
                    continue;
                }
                GrantVerdict::Denied { .. } => *grant = Grant::new(Decision::Denied),
                GrantVerdict::Approved(terms)
                    if grant.decision == Decision::Deferred
                        && self.grants.is_granted(&kernel, &permission) =>
                {
                    *grant = Grant::new(Decision::Approved);
                    grant.scope = terms.scope.as_deref().cloned();
                    response.expires_at = response.expires_at.into_iter().chain(terms.expires_at).min();
                }
                GrantVerdict::Approved(_) => continue,
            }
            response.approved_by = Some(approver.to_string());
        }
        Response::with_body(&response)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mgp_security::permission::GrantTerms;
    use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};
    use mgp_types::{Method, Object, Principal, Revision, RpcService, Session};

    use super::*;
    use crate::methods::MethodsAsToolsGate;
    use crate::test_kernel::{TestKernel, text};

    const ASKED: &str =
        r#"{"request_id":"perm-1","permissions":["shell","camera","memory.read"],"policy":"interactive"}"#;

    fn session(revision: Revision, speaks: bool) -> Arc<Session> {
        let mut session = Session::new(revision);
        let offer = Offer::new(ExtensionSet::from_names(&["permissions"]));
        session.mgp = Negotiated::agree(&offer, &offer).filter(|_| speaks);
        Arc::new(session)
    }

    async fn call<S: RpcService>(
        service: &mut S,
        session: &Arc<Session>,
        method: &'static str,
        params: &str,
    ) -> Result<Response, Error> {
        let mut request = Request::call(Method::new(method), Object::parse(params.to_owned()).unwrap());
        request.context.session = Some(Arc::clone(session));
        request.context.principal = Some(Principal::new("one"));
        service.call(request).await
    }

    // covers: MGP-3.4-02, MGP-3.6-01..03
    #[tokio::test]
    async fn what_nobody_decided_is_deferred_and_what_the_client_tells_is_kept_for_its_session() {
        let scene = TestKernel::open().await;
        let mut service = scene.router.clone();
        let (one, other) = (session(Revision::V2025_11_25, true), session(Revision::V2025_11_25, true));
        let answer = text(&call(&mut service, &one, "mgp/permission/request", ASKED).await.unwrap());
        assert_eq!(
            answer,
            r#"{"request_id":"perm-1","grants":{"camera":"deferred","memory.read":"deferred","shell":"deferred"}}"#
        );
        let decisions = r#"{"request_id":"perm-1","grants":{"camera":"approved","shell":"denied"}}"#;
        for method in ["mgp/permission/response", "mgp/permission/grant"] {
            assert_eq!(text(&call(&mut service, &one, method, decisions).await.unwrap()), "{}");
        }
        let answer = text(&call(&mut service, &one, "mgp/permission/await", ASKED).await.unwrap());
        assert!(
            answer.contains(r#""camera":"approved","memory.read":"deferred","shell":"denied""#),
            "{answer}"
        );
        let answer = text(&call(&mut service, &other, "mgp/permission/await", ASKED).await.unwrap());
        assert!(answer.contains(r#""camera":"deferred""#), "{answer}");
    }

    // covers: MGP-3.6-04, MGP-3.6-06..08
    #[tokio::test]
    async fn what_an_operator_decided_about_the_kernel_is_answered_and_a_denial_outweighs_the_client() {
        let scene = TestKernel::open().await;
        let mut service = scene.router.clone();
        let (root, kernel) = (Principal::operator("root"), ServerId::from(KERNEL));
        let grants = &scene.policies.grants;
        grants.grant(&root, None, &kernel, &Permission::Camera, GrantTerms::default()).await.unwrap();
        grants.revoke(&root, None, &kernel, &Permission::ShellExecute).await.unwrap();
        let one = session(Revision::V2025_11_25, true);
        let decisions = r#"{"request_id":"perm-1","grants":{"shell":"approved"}}"#;
        call(&mut service, &one, "mgp/permission/response", decisions).await.unwrap();
        let answer = text(&call(&mut service, &one, "mgp/permission/request", ASKED).await.unwrap());
        assert!(
            answer.contains(r#""camera":"approved","memory.read":"deferred","shell":"denied""#),
            "{answer}"
        );
        assert!(answer.contains(r#""approved_by":"root""#), "{answer}");
        // Nothing of that is a decision about a server.
        assert!(!grants.is_granted(&"files".into(), &Permission::Camera));
    }

    #[tokio::test]
    async fn a_client_without_sessions_carries_what_it_decided() {
        let scene = TestKernel::open().await;
        let mut service = scene.router.clone();
        let stateless = session(Revision::V2026_07_28, true);
        let decisions = r#"{"request_id":"perm-1","grants":{"camera":"approved"}}"#;
        call(&mut service, &stateless, "mgp/permission/response", decisions).await.unwrap();
        let mut asked: serde_json::Value = serde_json::from_str(ASKED).unwrap();
        let decisions: serde_json::Value = serde_json::from_str(decisions).unwrap();
        asked["_meta"] = serde_json::json!({ method::GRANTS_META: decisions });
        let answer =
            call(&mut service, &stateless, "mgp/permission/await", &asked.to_string()).await.unwrap();
        assert!(text(&answer).contains(r#""camera":"approved""#), "{}", text(&answer));
    }

    #[tokio::test]
    async fn without_the_extension_there_are_no_such_methods_and_there_is_the_tool() {
        let scene = TestKernel::open().await;
        let mut service = MethodsAsToolsGate::default().layer(scene.router.clone());
        let plain = session(Revision::V2025_11_25, false);
        let refused = call(&mut service, &plain, "mgp/permission/request", ASKED).await.unwrap_err();
        assert_eq!(refused.code(), mgp_types::code::METHOD_NOT_FOUND);
        let asked = format!(r#"{{"name":"mgp_permission_request","arguments":{ASKED}}}"#);
        let answer = text(&call(&mut service, &plain, "tools/call", &asked).await.unwrap());
        assert!(answer.contains(r#""structuredContent":{"request_id":"perm-1""#), "{answer}");
    }

    #[tokio::test]
    async fn what_is_malformed_is_refused_and_reaches_no_server() {
        let scene = TestKernel::open().await;
        let server = scene.server("a").await;
        let mut service = scene.router.clone();
        let one = session(Revision::V2025_11_25, true);
        let many: Vec<_> = (0..1000).map(|number| format!("com.example.p{number}")).collect();
        let many = serde_json::json!({"request_id": "x", "permissions": many, "policy": "interactive"});
        for params in ["{}", r#"{"request_id":1,"permissions":[]}"#, &many.to_string()] {
            let refused = call(&mut service, &one, "mgp/permission/request", params).await.unwrap_err();
            assert_eq!(refused.code(), mgp_types::code::INVALID_PARAMS, "{params:.60}");
        }
        assert!(server.methods().is_empty(), "what is malformed goes no further");
    }
}
