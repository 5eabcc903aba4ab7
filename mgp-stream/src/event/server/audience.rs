use std::fmt;
use std::sync::Arc;

use mgp_types::Principal;

/// Decides who may see what is published, each time anew: what somebody may do changes while subscriptions last.
///
/// It is asked by publishers, who wait for it.
pub trait Audience: Send + Sync + 'static {
    /// Whether `principal` may know of the channel, and see what is published on it.
    fn sees(&self, principal: Option<&Principal>, channel: &str) -> bool;
}

impl<F: Fn(Option<&Principal>, &str) -> bool + Send + Sync + 'static> Audience for F {
    fn sees(&self, principal: Option<&Principal>, channel: &str) -> bool {
        self(principal, channel)
    }
}

/// Somebody who subscribes, and what decides about it.
#[derive(Clone)]
pub(super) struct Spectator {
    pub(super) principal: Option<Principal>,
    audience: Arc<dyn Audience>,
}

impl Spectator {
    pub(super) fn new(principal: Option<&Principal>, audience: &Arc<dyn Audience>) -> Self {
        Self { principal: principal.cloned(), audience: Arc::clone(audience) }
    }

    pub(super) fn sees(&self, channel: &str) -> bool {
        self.audience.sees(self.principal.as_ref(), channel)
    }
}

impl fmt::Debug for Spectator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Spectator").field(&self.principal).finish()
    }
}
