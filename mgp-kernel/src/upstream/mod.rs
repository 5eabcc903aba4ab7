//! One server: how it is reached, what lies in front of it, what it says unasked.

#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod told;

use std::sync::Arc;

use mgp_types::mgp::{ServerId, ServerState};
use mgp_types::{Object, Principal, Session};

use crate::erased::Erased;
use crate::meter::Meter;

/// A server of the kernel's, connected or not.
pub(crate) struct Upstream {
    id: ServerId,
    /// The way to the server with everything that lies in front of it.
    service: Erased,
    #[cfg(test)]
    fake: Option<fake::Fake>,
    meter: Meter,
}

impl Upstream {
    pub(crate) fn id(&self) -> &ServerId {
        &self.id
    }

    pub(crate) fn service(&self) -> Erased {
        self.service.clone()
    }

    /// Whether this agent reaches the server at all.
    pub(crate) fn admits(&self, _: &Principal) -> bool {
        true
    }

    /// What was counted of its calls.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// How it does now.
    pub(crate) fn state(&self) -> ServerState {
        ServerState::Registered
    }

    /// What was agreed with it, if it is connected.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        #[cfg(test)]
        if let Some(fake) = &self.fake {
            return Some(Arc::clone(&fake.session));
        }
        None
    }

    /// What it said that it can do, if it is connected.
    pub(crate) fn capabilities(&self) -> Object {
        #[cfg(test)]
        if let Some(fake) = &self.fake {
            return fake.capabilities.clone();
        }
        Object::new()
    }

    /// What it told a model about itself, if it is connected.
    pub(crate) fn instructions(&self) -> Option<Arc<str>> {
        #[cfg(test)]
        if let Some(fake) = &self.fake {
            return fake.instructions.clone();
        }
        None
    }
}
