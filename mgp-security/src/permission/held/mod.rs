//! The server's side of permissions: the grants of its clients, and the gate that holds tools to them.

mod gate;
mod handle;
mod ledger;

use std::sync::Arc;

use mgp_types::mgp::Permission;

pub use self::handle::HandleKey;
use self::ledger::GrantLedger;
use crate::Clock;
use crate::latest_time::LatestTime;

/// A function that returns the permissions that a tool needs by name; empty for a tool that needs none or does not
/// exist.
pub type NeededPermissions = Arc<dyn Fn(&str) -> Arc<[Permission]> + Send + Sync>;

/// A gate that takes the grants of clients, and refuses calls of tools that need more with 1000.
///
/// The gate stands behind the layers that set the session and the principal, and in front of the router; to ask a
/// client that cannot be asked directly, it has to stand further in than the layer that carries such questions. It
/// reads `context.session`, without which it refuses a call that needs a permission, and writes `context.grants`.
///
/// The gate answers `mgp/permission/request`: the client decides, so permissions that it has not reported are
/// deferred. Decisions that the client reports by `mgp/permission/response` hold for the session. Without sessions,
/// each request carries its grants, or the handle made from them, in `_meta`; a request that carries none has none. A
/// tool that lacks a permission asks for it where the client can ask a human, and an approval is for this call only.
/// Where permissions were not negotiated, these methods do not exist and no tool is held back: a client that does not
/// know them cannot grant them.
///
/// A call of a tool that needs nothing costs no lock and no allocation. A call that has to ask boxes its future;
/// dropping it withdraws the question.
///
/// Clones share the grants.
#[derive(Clone)]
pub struct HeldPermissionsGate(Arc<HeldPermissionsShared>);

struct HeldPermissionsShared {
    needed: NeededPermissions,
    clock: Clock,
    latest: LatestTime,
    ledger: GrantLedger,
    handles: Option<HandleKey>,
}

impl HeldPermissionsGate {
    /// Returns a gate that holds each tool to the permissions that `needed` returns for it.
    pub fn new(needed: NeededPermissions, clock: Clock) -> Self {
        Self(Arc::new(HeldPermissionsShared {
            needed,
            clock,
            latest: LatestTime::default(),
            ledger: GrantLedger::default(),
            handles: None,
        }))
    }

    /// Gives clients without a session a handle, sealed with `key`, to send in place of their grants.
    ///
    /// # Panics
    /// Panics if the gate is shared already.
    #[must_use]
    pub fn with_handles(mut self, key: HandleKey) -> Self {
        Arc::get_mut(&mut self.0).expect("the gate is not shared yet").handles = Some(key);
        self
    }
}

mgp_types::partial_debug!(HeldPermissionsGate);

#[cfg(test)]
mod tests;
