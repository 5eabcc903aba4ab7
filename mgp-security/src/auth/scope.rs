use mgp_types::mgp::Refusal;
use mgp_types::{Flow, Gate, Method, Request};

use super::{ApiPermissions, AuthError};

/// What the key of a request is for, where that is judged when its tool is known.
#[derive(Debug, Clone)]
pub(super) struct KeyScope(pub(super) ApiPermissions);

/// Holds calls to what the caller's key is for, by server and tool.
///
/// For a stack in which [`AuthLayer`](super::AuthLayer) leaves that to it. Sits behind what resolves tools, within fallback
/// and the record, so that a tool that is called in place of another one is held to the key as well. Reads what
/// [`Auth`](super::Auth) left in the extensions of the request, and `context.tool`; a tool that nobody resolved is of no
/// server. Refuses with 1000, and notes it in `context.trail`. Allocates on refusal only; never waits.
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
