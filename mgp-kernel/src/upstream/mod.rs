//! One server: how it is reached, what lies in front of it, what it says unasked.

mod told;

use std::sync::Arc;

use mgp_types::mgp::{ServerId, ServerState};
use mgp_types::{Object, Session};

pub(crate) use self::told::{Told, What};
use crate::erased::Erased;
use crate::meter::Meter;

/// A server of the kernel's, connected or not.
pub(crate) struct Upstream {
    id: ServerId,
    /// The way to the server with everything that lies in front of it.
    service: Erased,
    meter: Meter,
}

impl Upstream {
    pub(crate) fn id(&self) -> &ServerId {
        &self.id
    }

    pub(crate) fn service(&self) -> Erased {
        self.service.clone()
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
        None
    }

    /// What it said that it can do, if it is connected.
    pub(crate) fn capabilities(&self) -> Object {
        Object::new()
    }

    /// What it told a model about itself, if it is connected.
    pub(crate) fn instructions(&self) -> Option<Arc<str>> {
        None
    }
}
