//! The gate that checks tool calls against the key's permissions once the tool is resolved.

use mgp_types::mgp::Refusal;
use mgp_types::{Flow, Gate, Method, Request};

use super::{ApiPermissions, AuthError};

/// The permissions of a request's key, for requests that are checked once their tool is known.
#[derive(Debug, Clone)]
pub(super) struct KeyScope(pub(super) ApiPermissions);

/// A gate that holds tool calls to the permissions of the caller's key, by server and tool.
///
/// The gate is for a stack in which [`AuthLayer`](super::AuthLayer) leaves this check to it. It stands behind the
/// code that resolves tools, and further in than fallback and the audit record, so that a tool that is called in
/// place of another one is held to the key as well. It reads the permissions that [`Auth`](super::Auth) left in the
/// extensions of the request, and `context.tool`; an unresolved tool belongs to no server. It refuses with 1000, and
/// notes the refusal in `context.trail`. It allocates on refusal only, and never waits.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct KeyScopeGate;

impl KeyScopeGate {
    /// Returns a gate for any keys.
    pub const fn new() -> Self {
        Self
    }
}

impl Gate for KeyScopeGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if request.method != Method::TOOLS_CALL {
            return Flow::Pass(());
        }
        let Some(KeyScope(permissions)) = request.extensions.get() else { return Flow::Pass(()) };
        let is_permitted = match &request.context.tool {
            Some(tool) => permissions.allow_invoking(tool.server.as_str(), tool.name.as_str()),
            None => permissions.allow_invoking("", &request.params.text("name").unwrap_or_default()),
        };
        if is_permitted {
            return Flow::Pass(());
        }
        let error = AuthError::NotPermitted;
        if let Some(trail) = &request.context.trail {
            trail.note_refusal(Refusal::new("auth", error.rule()));
        }
        tracing::warn!(method = %request.method, rule = error.rule(), "caller refused");
        Flow::refuse(error.into())
    }
}
