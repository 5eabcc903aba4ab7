//! The server's side of permissions: the grants of its clients.

mod gate;
mod ledger;

use std::sync::Arc;

use self::ledger::GrantLedger;
use crate::Clock;
use crate::latest_time::LatestTime;

/// A gate that takes the grants of clients, and tells clients what they granted.
///
/// The gate stands behind the layer that sets the session. It reads `context.session`, and writes nothing.
///
/// The gate answers `mgp/permission/request`: the client decides, so permissions that it has not reported are
/// deferred. Decisions that the client reports by `mgp/permission/response` hold for the session. Without sessions,
/// each request carries its grants in `_meta`; a request that carries none has none. Where permissions were not negotiated, these methods do not exist. Other requests pass untouched.
///
/// Clones share the grants.
#[derive(Clone)]
pub struct HeldPermissionsGate(Arc<HeldPermissionsShared>);

struct HeldPermissionsShared {
    clock: Clock,
    latest: LatestTime,
    ledger: GrantLedger,
}

impl HeldPermissionsGate {
    /// Returns a gate that holds no grants yet, which end by `clock`.
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(HeldPermissionsShared {
            clock,
            latest: LatestTime::default(),
            ledger: GrantLedger::default(),
        }))
    }
}

mgp_types::partial_debug!(HeldPermissionsGate);

#[cfg(test)]
mod tests;
