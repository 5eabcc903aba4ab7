//! The server's side: the permissions that its clients granted.

mod handle;
mod ledger;
mod service;

use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::Permission;
use tower_layer::Layer;

pub use self::handle::HandleKey;
use self::ledger::Ledger;
pub use self::service::HeldPermissions;
use crate::Clock;
use crate::latest::Latest;

/// Which permissions the tool of this name needs; empty for a tool that needs none or does not exist.
pub type NeededPermissions = Arc<dyn Fn(&str) -> Arc<[Permission]> + Send + Sync>;

/// Makes [`HeldPermissions`] services. Those it makes share what is held.
#[derive(Clone)]
pub struct HeldPermissionsLayer(Arc<Shared>);

struct Shared {
    needed: NeededPermissions,
    clock: Clock,
    latest: Latest,
    ledger: Ledger,
    handles: Option<HandleKey>,
}

impl HeldPermissionsLayer {
    /// Holds each tool to what `needed` says of it.
    pub fn new(needed: NeededPermissions, clock: Clock) -> Self {
        Self(Arc::new(Shared {
            needed,
            clock,
            latest: Latest::default(),
            ledger: Ledger::default(),
            handles: None,
        }))
    }

    /// Gives clients without a session a handle for their grants, sealed with `key`, to send in their place. To be
    /// given before anything is held.
    #[must_use]
    pub fn with_handles(self, key: HandleKey) -> Self {
        let Shared { needed, clock, .. } = &*self.0;
        Self(Arc::new(Shared {
            needed: needed.clone(),
            clock: clock.clone(),
            latest: Latest::default(),
            ledger: Ledger::default(),
            handles: Some(key),
        }))
    }
}

impl<S> Layer<S> for HeldPermissionsLayer {
    type Service = HeldPermissions<S>;

    fn layer(&self, inner: S) -> HeldPermissions<S> {
        HeldPermissions::new(inner, self.0.clone())
    }
}

impl fmt::Debug for HeldPermissionsLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldPermissionsLayer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
