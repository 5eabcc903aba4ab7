//! The roots of a client, which it can replace.

use std::sync::Arc;

use mgp_types::Error;
use mgp_types::mcp::Root;
use parking_lot::RwLock;

/// The roots of a client, if it has any that can be replaced.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roots(Option<Arc<RwLock<Vec<Root>>>>);

impl Roots {
    pub(crate) fn of(roots: Vec<Root>) -> Self {
        Self(Some(Arc::new(RwLock::new(roots))))
    }

    pub(crate) fn current(&self) -> Vec<Root> {
        self.0.as_ref().map(|roots| roots.read().clone()).unwrap_or_default()
    }

    pub(crate) fn replace(&self, roots: Vec<Root>) -> Result<(), Error> {
        let Some(place) = &self.0 else {
            return Err(Error::invalid_request("the client was built without roots that can be replaced"));
        };
        *place.write() = roots;
        Ok(())
    }
}
