use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::AUTHORIZATION;
use http::request::Parts;
use mgp_types::mgp::{Refusal, ServerId, ToolName, ToolPattern};
use mgp_types::{Error, Method, Principal, Request, Response, RpcService, Validity};
use tower_layer::Layer;
use tower_service::Service;

use super::http::{authenticate, strip};
use super::listing::ListingFuture;
use super::required_permission::{MethodTools, RequiredPermission};
use super::scope::KeyScope;
use super::while_valid::WhileValid;
use super::{ApiPermission, ApiPermissions, AuthError, Authenticated, KeyRing, SecretKey};
use crate::GateFuture;

/// Lets in only those who prove who they are. Makes [`Auth`] services.
#[derive(Debug, Clone)]
pub struct AuthLayer {
    source: Arc<CredentialSource>,
    stand_ins: MethodTools,
    names: Option<ToolNames>,
}

/// Which tool of which server is called by a name.
#[derive(Clone)]
struct ToolNames(Arc<FindTool>);

/// Finds the server and the tool that a name is for.
type FindTool = dyn Fn(&str) -> Option<(ServerId, ToolName)> + Send + Sync;

impl fmt::Debug for ToolNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Names")
    }
}

/// Where the proof comes from.
#[derive(Debug)]
enum CredentialSource {
    /// From the head of the HTTP request that the request came in.
    Http(KeyRing),
    /// From the head of the HTTP request, and whoever brings none is known.
    HttpOr(KeyRing, Principal),
    /// From the configuration, for all requests, as over standard input and output.
    Configured(KeyRing, SecretKey),
    /// There is none: whoever is at the other end is known.
    Known(Principal),
}

impl AuthLayer {
    /// Takes a key of `ring` from the `Authorization` of the HTTP request, unless
    /// [`HttpAuth`](super::HttpAuth) did so before.
    pub fn http(ring: KeyRing) -> Self {
        Self::new(CredentialSource::Http(ring))
    }

    /// Takes a key of `ring` like [`http`](Self::http) where there is an `Authorization`, and requests without one to come
    /// from `principal`, which may do everything here.
    pub fn http_or(ring: KeyRing, principal: Principal) -> Self {
        Self::new(CredentialSource::HttpOr(ring, principal))
    }

    /// Takes `key` to have come with each request, as one from the environment of a process that speaks over standard
    /// input and output. It is verified each time, so it can expire and be revoked.
    pub fn with_key(ring: KeyRing, key: SecretKey) -> Self {
        Self::new(CredentialSource::Configured(ring, key))
    }

    /// Takes each request to come from `principal`, which may do everything here.
    pub fn fixed(principal: Principal) -> Self {
        Self::new(CredentialSource::Known(principal))
    }

    /// Has the call of a tool that stands for a method of MGP, such as `mgp.tools.discover`, demand of a key what the method
    /// demands. A permission to call it has to say its whole name.
    ///
    /// For a stack that serves such tools, and in which no other tool has such a name.
    #[must_use]
    pub fn methods_as_tools(self) -> Self {
        Self { stand_ins: MethodTools::MethodsOfMgp, ..self }
    }

    /// Leaves it to a [`KeyScopeGate`](super::KeyScopeGate) behind what resolves tools whether a key is for the tool of a
    /// call, and to `names` which tools are listed: of which server a tool is, only a catalog knows.
    #[must_use]
    pub fn resolved_behind(
        self,
        names: impl Fn(&str) -> Option<(ServerId, ToolName)> + Send + Sync + 'static,
    ) -> Self {
        Self { names: Some(ToolNames(Arc::new(names))), ..self }
    }

    fn new(source: CredentialSource) -> Self {
        Self { source: Arc::new(source), stand_ins: MethodTools::None, names: None }
    }
}

impl<S> Layer<S> for AuthLayer {
    type Service = Auth<S>;

    fn layer(&self, inner: S) -> Auth<S> {
        Auth { inner, layer: self.clone() }
    }
}

/// The service of [`AuthLayer`].
///
/// Sits in front of everything that reads `context.principal`, which it writes, whatever stood there. Every request
/// needs a key, `ping` included; the key's permissions decide which methods and tools it is for, and `tools/list`
/// shows what the key may see. Refuses with 1002 without a valid key, 1003 with one that has expired, 3000 with one
/// that is used too often, and 1000 for what a key does not permit.
///
/// What proved the caller goes no further: `Authorization` is taken out of the head of the HTTP request. Why a caller
/// was refused goes into `context.trail`. A call in work whose key is revoked or expires ends with 1002, unless it may
/// finish; one that listens ends in any case. Without an HTTP request, it allocates on refusal and for lists only. Never
/// waits; dropping the future drops that of the service further in, and the use of the key stays counted.
#[derive(Debug, Clone)]
pub struct Auth<S> {
    inner: S,
    layer: AuthLayer,
}

impl<S: RpcService> Service<Request> for Auth<S> {
    type Response = Response;
    type Error = Error;
    type Future = ListingFuture<WhileValid<S::Future>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        match self.layer.admit(&request) {
            Ok(AdmittedCaller { principal, visible, validity, scope }) => {
                let listens = request.method == Method::LISTEN;
                request.context.principal = Some(principal);
                // Nobody else says what a key is for.
                request.extensions.remove::<KeyScope>();
                if let Some(scope) = scope {
                    request.extensions.insert(scope);
                }
                strip(&mut request.extensions);
                let future = WhileValid::new(self.inner.call(request), validity, listens);
                match visible {
                    None => ListingFuture::whole(GateFuture::passed(future)),
                    Some(visible) if visible.contains(&ApiPermission::ToolsListAll) => {
                        ListingFuture::all(future)
                    }
                    Some(visible) => {
                        let names = self.layer.names.clone();
                        ListingFuture::only(future, move |name| {
                            let known = names.as_ref().and_then(|names| (names.0)(name));
                            if let Some((server, tool)) = &known {
                                visible.allow_reading(server.as_str(), tool.as_str())
                            } else {
                                let (server, tool) = ToolPattern::split(name);
                                visible.allow_reading(server, tool)
                            }
                        })
                    }
                }
            }
            Err(error) => {
                let rule = error.rule();
                if let Some(trail) = &request.context.trail {
                    trail.note_refusal(Refusal::new("auth", rule));
                }
                tracing::warn!(method = %request.method, rule, "caller refused");
                ListingFuture::whole(GateFuture::refused(error.into()))
            }
        }
    }
}

struct AdmittedCaller {
    principal: Principal,
    /// For a list of tools, what the caller may see.
    visible: Option<ApiPermissions>,
    /// How long the key holds; `None` where there is none.
    validity: Option<Validity>,
    /// For the call of a tool, what the key is for, if that is judged further in.
    scope: Option<KeyScope>,
}

impl AdmittedCaller {
    /// Somebody who needs no key.
    fn known(principal: &Principal) -> Self {
        Self { principal: principal.clone(), visible: None, validity: None, scope: None }
    }
}

impl AuthLayer {
    fn admit(&self, request: &Request) -> Result<AdmittedCaller, AuthError> {
        let caller = match &*self.source {
            CredentialSource::Known(principal) => {
                return Ok(AdmittedCaller::known(principal));
            }
            CredentialSource::Configured(ring, key) => ring.verify(key.expose())?,
            CredentialSource::HttpOr(_, principal) if !brings_key(request) => {
                return Ok(AdmittedCaller::known(principal));
            }
            CredentialSource::Http(ring) | CredentialSource::HttpOr(ring, _) => {
                let head = request.extensions.get::<Parts>().ok_or(AuthError::Unknown)?;
                match head.extensions.get::<Authenticated>() {
                    Some(caller) => caller.clone(),
                    None => authenticate(ring, &head.headers)?,
                }
            }
        };
        let demand = RequiredPermission::of(request, self.stand_ins);
        let permissions = caller.permissions();
        let is_resolved_behind = self.names.is_some() && matches!(demand, RequiredPermission::Invoke(_));
        let is_met =
            if is_resolved_behind { permissions.allow_invoking_some() } else { demand.is_met(permissions) };
        if !is_met {
            return Err(AuthError::NotPermitted);
        }
        let scope = is_resolved_behind.then(|| KeyScope(permissions.clone()));
        let visible = (demand == RequiredPermission::ListedTools).then(|| caller.permissions().clone());
        let validity = Some(caller.validity().clone());
        Ok(AdmittedCaller { principal: caller.principal().clone(), visible, validity, scope })
    }
}

fn brings_key(request: &Request) -> bool {
    request.extensions.get::<Parts>().is_some_and(|head| {
        head.extensions.get::<Authenticated>().is_some() || head.headers.contains_key(AUTHORIZATION)
    })
}
