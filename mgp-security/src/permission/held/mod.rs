//! The server's side: the permissions that its clients granted.

mod gate;
mod handle;
mod ledger;

use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::Permission;

pub use self::handle::HandleKey;
use self::ledger::GrantLedger;
use crate::Clock;
use crate::latest_time::LatestTime;

/// Which permissions the tool of this name needs; empty for a tool that needs none or does not exist.
pub type NeededPermissions = Arc<dyn Fn(&str) -> Arc<[Permission]> + Send + Sync>;

/// Takes what clients grant, and refuses the calls of tools that need more with 1000.
///
/// Sits behind the layers that know the session and the principal, and around the router; where it is to ask a client
/// that cannot be asked directly, inside the layer that carries such questions. Reads `context.session`, refuses
/// what needs a permission without it, and writes `context.grants`.
///
/// The gate answers `mgp/permission/request`: the client decides, so permissions that it has not told of are deferred. Decisions
/// that the client tells by `mgp/permission/response` hold for the session; without sessions, each request carries its grants or
/// the handle made of them in `_meta`, and one that carries none has none. A tool that lacks a permission asks for it
/// where the client can ask a human, and a yes is one for this call. Where permissions were not negotiated these
/// methods do not exist, and no tool is held back: a client that does not know them cannot grant them.
///
/// A call of a tool that needs nothing costs no lock and no allocation. One that has to ask boxes its future; dropping
/// it takes the question back.
///
/// Clones share what is held.
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
    /// Holds each tool to what `needed` says of it.
    pub fn new(needed: NeededPermissions, clock: Clock) -> Self {
        Self(Arc::new(HeldPermissionsShared {
            needed,
            clock,
            latest: LatestTime::default(),
            ledger: GrantLedger::default(),
            handles: None,
        }))
    }

    /// Gives clients without a session a handle for their grants, sealed with `key`, to send in their place. To be
    /// given before anything is held.
    #[must_use]
    pub fn with_handles(self, key: HandleKey) -> Self {
        let HeldPermissionsShared { needed, clock, .. } = &*self.0;
        Self(Arc::new(HeldPermissionsShared {
            needed: needed.clone(),
            clock: clock.clone(),
            latest: LatestTime::default(),
            ledger: GrantLedger::default(),
            handles: Some(key),
        }))
    }
}

impl fmt::Debug for HeldPermissionsGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldPermissionsGate").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
