use std::task::{Context, Poll};

use mgp_types::mgp::Refusal;
use mgp_types::{Error, Method, Request, Response, RpcService};
use tower_layer::Layer;
use tower_service::Service;

use super::{ApiPermissions, AuthError};
use crate::GateFuture;

/// What the key of a request is for, where that is judged when its tool is known.
#[derive(Debug, Clone)]
pub(super) struct KeyScope(pub(super) ApiPermissions);

/// Holds calls to what the caller's key is for, by server and tool. Makes [`KeyScoped`] services.
///
/// For a stack in which [`AuthLayer`](super::AuthLayer) leaves that to it.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct KeyScopeLayer;

impl KeyScopeLayer {
    /// A layer for any keys.
    pub const fn new() -> Self {
        Self
    }
}

impl<S> Layer<S> for KeyScopeLayer {
    type Service = KeyScoped<S>;

    fn layer(&self, inner: S) -> KeyScoped<S> {
        KeyScoped { inner }
    }
}

/// The service of [`KeyScopeLayer`].
///
/// Sits behind what resolves tools, within fallback and the record, so that a tool that is called in place of another one
/// is held to the key as well. Reads what [`Auth`](super::Auth) left in the extensions of the request, and `context.tool`;
/// a tool that nobody resolved is of no server. Refuses with 1000, and notes it in `context.trail`. Allocates on refusal
/// only; never waits.
#[derive(Debug, Clone)]
pub struct KeyScoped<S> {
    inner: S,
}

impl<S: RpcService> Service<Request> for KeyScoped<S> {
    type Response = Response;
    type Error = Error;
    type Future = GateFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.method == Method::TOOLS_CALL
            && let Some(KeyScope(permissions)) = request.extensions.get()
        {
            let is_permitted = match &request.context.tool {
                Some(tool) => permissions.allow_invoking(tool.server.as_str(), tool.name.as_str()),
                None => permissions.allow_invoking("", &request.params.text("name").unwrap_or_default()),
            };
            if !is_permitted {
                let error = AuthError::NotPermitted;
                if let Some(trail) = &request.context.trail {
                    trail.note_refusal(Refusal::new("auth", error.rule()));
                }
                tracing::warn!(method = %request.method, rule = error.rule(), "caller refused");
                return GateFuture::refused(error.into());
            }
        }
        GateFuture::passed(self.inner.call(request))
    }
}
