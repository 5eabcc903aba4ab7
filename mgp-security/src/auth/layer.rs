//! The tower layer that finds out who sends each request: by its API key, or as the connection proved it.

use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::Either;
use futures_util::task::AtomicWaker;
use http::header::AUTHORIZATION;
use http::request::Parts;
use mgp_types::mgp::{Refusal, ServerId, ToolName, ToolPattern};
use mgp_types::{
    Error, Flow, Gate, Method, Principal, Request, Response, RpcService, RunningCalls, Validity,
    ValidityWatch,
};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::http::{authenticate, strip};
use super::permission::{CALL, check_demand};
use super::{ApiPermission, ApiPermissions, AuthError, Authenticated, KeyRing};
use crate::listing::{keep_all, keep_listed};

/// A layer that lets in only requests whose caller is authenticated. It makes [`Auth`] services.
#[derive(Clone)]
pub struct AuthLayer {
    /// The keys that HTTP requests come with; `None` if no request needs one.
    ring: Option<KeyRing>,
    /// The principal of the requests that come without a key; `None` if these are refused.
    keyless: Option<Principal>,
    has_stand_ins: bool,
    names: Option<Arc<FindTool>>,
}

mgp_types::partial_debug!(AuthLayer, self => ring: self.ring, keyless: self.keyless);

/// A function that finds the server and the tool of a name.
type FindTool = dyn Fn(&str) -> Option<(ServerId, ToolName)> + Send + Sync;

impl AuthLayer {
    /// Returns a layer that takes a key of `ring` from the `Authorization` of the HTTP request, unless
    /// [`HttpAuth`](super::HttpAuth) has done so before.
    pub fn http(ring: KeyRing) -> Self {
        Self { ring: Some(ring), keyless: None, has_stand_ins: false, names: None }
    }

    /// Returns a layer that takes a key of `ring` like [`http`](Self::http) where there is an `Authorization`.
    /// Requests without one come from `principal`, which may do everything here.
    pub fn http_or(ring: KeyRing, principal: Principal) -> Self {
        Self { keyless: Some(principal), ..Self::http(ring) }
    }

    /// Returns a layer that treats each request as coming from `principal`, which may do everything here.
    pub fn fixed(principal: Principal) -> Self {
        Self { ring: None, keyless: Some(principal), has_stand_ins: false, names: None }
    }

    mgp_types::setters! { #[must_use] self =>
        /// Makes the call of a tool that stands for an MGP method, such as `mgp.tools.discover`, demand the same
        /// permission as the method. A permission to call such a tool has to give its whole name.
        ///
        /// This is for a stack that serves such tools, and in which no other tool has such a name.
        pub fn methods_as_tools() => self.has_stand_ins = true;

        /// Leaves the check whether a key permits a tool call to a [`KeyScopeGate`](super::KeyScopeGate) behind the
        /// code that resolves tools, and uses `names` to find the listed tools: only a catalog knows to which server
        /// a tool belongs.
        pub fn resolved_behind(names: impl Fn(&str) -> Option<(ServerId, ToolName)> + Send + Sync + 'static) =>
            self.names = Some(Arc::new(names));
    }

    /// Returns the principal that a request comes from, and, where a key is needed, who sent it and whether a call is still
    /// to be held to the key further in.
    fn admit(&self, request: &Request) -> Result<(Principal, Option<(Authenticated, bool)>), AuthError> {
        let head = request.extensions.get::<Parts>();
        let caller = head.and_then(|head| head.extensions.get::<Authenticated>());
        let has_key = caller.is_some() || head.is_some_and(|head| head.headers.contains_key(AUTHORIZATION));
        let is_keyless = self.ring.is_none() || !has_key;
        if let Some(principal) = self.keyless.as_ref().filter(|_| is_keyless) {
            return Ok((principal.clone(), None));
        }
        let (ring, head) = self.ring.as_ref().zip(head).ok_or(AuthError::Unknown)?;
        let caller = caller.cloned().map_or_else(|| authenticate(ring, &head.headers), Ok)?;
        let is_call_held =
            check_demand(request, &caller.permissions, self.has_stand_ins, self.names.is_some())
                .map_err(|missing| AuthError::NotPermitted { missing })?;
        Ok((caller.principal.clone(), Some((caller, is_call_held))))
    }
}

mgp_types::layer!(AuthLayer, self, inner => Auth { inner, layer: self.clone() });

/// The service of [`AuthLayer`].
///
/// The service stands in front of everything that reads `context.principal`, which it overwrites; a client on this machine,
/// which has no key, gets the name that its `context.client` has. Where keys are required, every request that reaches the
/// service needs one, `ping` included; the permissions of the key decide which methods and tools it is for, and `tools/list`
/// shows only the tools that the key may see. It refuses with 1002 without a valid key, 1003 with an expired one,
/// 3000 with one that is used too often, and 1000 for a request that the key does not permit.
///
/// The credential goes no further: `Authorization` is removed from the head of the HTTP request. The reason for a
/// refusal goes into `context.trail`, if there is one so far. The extensions of the request tell further in what the key is
/// for, and its [`Validity`]. A running call whose key is revoked or expires ends with 1002, unless it may
/// finish; a call that listens ends in any case. Without an HTTP request, it allocates on refusal and for lists only.
/// It never waits; dropping its future drops that of the service further in, and the use of the key stays counted.
#[derive(Debug, Clone)]
pub struct Auth<S> {
    inner: S,
    layer: AuthLayer,
}

impl<S: RpcService> Service<Request> for Auth<S> {
    type Future = Either<WhileValid<S::Future>, Ready<Result<Response, Error>>>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, mut request: Request) -> Self::Future {
        match self.layer.admit(&request) {
            Ok((principal, caller)) => {
                let listens = request.method == Method::LISTEN;
                let context = &request.context;
                let principal = match &context.client {
                    Some(client) => client.principal(&principal, context.session.as_deref()),
                    None => principal,
                };
                request.context.principal = Some(principal);
                // Only this layer may say what the key is for.
                request.extensions.remove::<KeyScope>();
                request.extensions.remove::<Validity>();
                request.extensions.remove::<crate::oauth::StepUp>();
                request.context.scopes = None;
                let (mut validity, mut visible) = (None, None);
                if let Some((caller, is_call_held)) = caller {
                    let Authenticated { permissions, validity: held, token, .. } = caller;
                    visible = (request.method == Method::TOOLS_LIST).then(|| permissions.clone());
                    validity = Some(held.clone());
                    request.extensions.insert(held);
                    request.extensions.insert(KeyScope { permissions, is_call_held });
                    if let Some(token) = &token {
                        request.context.scopes = Some(Arc::clone(&token.scopes));
                        request.extensions.insert(token.step_up.clone());
                    }
                }
                strip(&mut request.extensions);
                let finish = visible.map(|visible| -> FinishAnswer {
                    if visible.contains(&ApiPermission::ToolsListAll) {
                        return Box::new(keep_all);
                    }
                    let names = self.layer.names.clone();
                    Box::new(move |response| {
                        keep_listed(response, |name| is_visible(&visible, names.as_deref(), name))
                    })
                });
                let call = Some(self.inner.call(request));
                Either::Left(WhileValid { call, validity, listens, watch: None, finish })
            }
            Err(error) => {
                let rule = error.rule();
                request.context.note_refusal(Refusal::new("auth", rule));
                tracing::warn!(method = %request.method, rule, "caller refused");
                Either::Right(ready(Err(error.into())))
            }
        }
    }
}

pin_project! {
    /// A call that runs as long as the key of its caller holds. Dropping it drops the call.
    pub struct WhileValid<F> {
        #[pin]
        call: Option<F>,
        validity: Option<Validity>,
        // A subscription has no end of its own, so it is never allowed to finish.
        listens: bool,
        // Wakes the call when the key no longer holds.
        watch: Option<(Arc<AtomicWaker>, ValidityWatch)>,
        finish: Option<FinishAnswer>,
    }
}

/// A change of the answer to a call.
type FinishAnswer = Box<dyn FnOnce(Response) -> Result<Response, Error> + Send + Sync>;

impl<F: Future<Output = Result<Response, Error>>> Future for WhileValid<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let Some(call) = this.call.as_mut().as_pin_mut() else { return Poll::Pending };
        if let Poll::Ready(outcome) = call.poll(cx) {
            return Poll::Ready(match this.finish.take() {
                Some(finish) => outcome.and_then(finish),
                None => outcome,
            });
        }
        let Some(validity) = this.validity else { return Poll::Pending };
        // The key is watched only once the call waits; most calls are done at the first poll.
        let (waker, _) = this.watch.get_or_insert_with(|| {
            let waker = Arc::<AtomicWaker>::default();
            let woken = Arc::clone(&waker);
            (waker, validity.on_end(move |_| woken.wake()))
        });
        waker.register(cx.waker());
        match validity.ended() {
            Some(calls) if calls == RunningCalls::Cancel || *this.listens => {
                this.call.set(None);
                Poll::Ready(Err(AuthError::Unknown.into()))
            }
            _ => Poll::Pending,
        }
    }
}

mgp_types::partial_debug!([F] WhileValid<F>);

/// Returns whether a key with the permissions `visible` may see the tool that a list calls `name`.
fn is_visible(visible: &ApiPermissions, names: Option<&FindTool>, name: &str) -> bool {
    if let Some((server, tool)) = names.and_then(|names| names(name)) {
        return visible.allow_reading(server.as_str(), tool.as_str());
    }
    let (server, tool) = ToolPattern::split(name);
    visible.allow_reading(server, tool)
}

/// The permissions of a request's key, for those who answer the request further in.
#[derive(Debug, Clone)]
pub struct KeyScope {
    permissions: ApiPermissions,
    /// True if the request calls a tool, and its key is still to be held to that.
    is_call_held: bool,
}

impl KeyScope {
    /// Returns `call`, which ends with 1002 when the key of `request` no longer holds. This is for calls that go on behind an
    /// answer; [`Auth`] itself watches the others.
    pub fn hold<F>(request: &Request, call: F) -> impl Future<Output = Result<Response, Error>> + use<F>
    where
        F: Future<Output = Result<Response, Error>>,
    {
        let validity = request.extensions.get::<Validity>().cloned();
        WhileValid { call: Some(call), validity, listens: false, watch: None, finish: None }
    }

    /// Returns whether documents about tools that answer `request` have this one: its key may call the tool or, where the
    /// key calls none, see it. Without a key they have all.
    pub fn covers(request: &Request, server: &str, tool: &str) -> bool {
        request.extensions.get::<Self>().is_none_or(|Self { permissions, .. }| {
            if permissions.allow_invoking_some() {
                permissions.allow_invoking(server, tool)
            } else {
                permissions.allow_reading(server, tool)
            }
        })
    }

    /// Checks that the key of a request about a tool is for it; an unknown tool has no server.
    ///
    /// # Errors
    /// 1000 if it is not, whether there is the tool or not.
    pub fn check(request: &Request, server: &str, tool: &str) -> Result<(), Error> {
        if Self::covers(request, server, tool) { Ok(()) } else { Err(refused(request, server, tool)) }
    }
}

/// Notes and returns the refusal of a request about a tool that its key is not for.
fn refused(request: &Request, server: &str, tool: &str) -> Error {
    let error = AuthError::NotPermitted { missing: CALL };
    request.context.note_refusal(Refusal::new("auth", error.rule()));
    tracing::debug!(method = %request.method, rule = error.rule(), "caller refused");
    let parts = [server, tool].into_iter().filter(|part| !part.is_empty());
    let name: String = parts.collect::<Vec<_>>().join(".").chars().take(128).collect();
    let message = format!(
        "the key does not permit calls of `{name}`; have one issued with mgp keys new OWNER --allow call:SERVER.TOOL"
    );
    Error::from(error).with_message(message)
}

/// A gate that holds tool calls to the permissions of the caller's key, by server and tool.
///
/// The gate is for a stack in which [`AuthLayer`] leaves this check to it. It stands behind the
/// code that resolves tools, and further in than fallback and the audit record, so that a tool that is called in
/// place of another one is held to the key as well. It reads the permissions that [`Auth`] left in the
/// extensions of the request, and `context.tool`; an unresolved tool belongs to no server. It refuses with 1000, and
/// notes the refusal in `context.trail`. It allocates on refusal only, and never waits.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "the gate has no settings")]
pub struct KeyScopeGate;

impl Gate for KeyScopeGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let Some(KeyScope { permissions, is_call_held: true, .. }) = request.extensions.get() else {
            return Flow::Pass(());
        };
        let named = request.params.text("name").unwrap_or_default();
        let tool = request.context.tool.as_ref();
        let (server, tool) = tool.map_or(("", &*named), |tool| (tool.server.as_str(), tool.name.as_str()));
        if permissions.allow_invoking(server, tool) {
            return Flow::Pass(());
        }
        Flow::refuse(refused(request, server, tool))
    }
}
