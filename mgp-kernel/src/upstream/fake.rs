use std::sync::Arc;

use mgp_types::{Object, Session};

use super::Upstream;
use crate::erased::Erased;
use crate::meter::Meter;

/// A server that is connected and lies within the test.
pub(crate) struct Fake {
    pub(crate) session: Arc<Session>,
    pub(crate) capabilities: Object,
    pub(crate) instructions: Option<Arc<str>>,
}

impl Upstream {
    /// The server `id`, which `service` answers for, with nothing in front of it.
    pub(crate) fn fake(id: &str, service: Erased, fake: Fake) -> Self {
        Self { id: id.into(), service, meter: Meter::default(), fake: Some(fake) }
    }
}
