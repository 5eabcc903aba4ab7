//! All servers that the kernel has to do with.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::mgp::ServerId;

use crate::upstream::Upstream;

/// The servers, as a snapshot: readers never wait.
#[derive(Default)]
pub(crate) struct Fleet(ArcSwap<BTreeMap<ServerId, Arc<Upstream>>>);

impl Fleet {
    pub(crate) fn get(&self, server: &str) -> Option<Arc<Upstream>> {
        self.0.load().get(server).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Upstream>> {
        self.0.load().values().cloned().collect()
    }

    /// Adds a server that is none.
    #[cfg(test)]
    pub(crate) fn put(&self, upstream: Upstream) {
        let mut servers = BTreeMap::clone(&self.0.load());
        servers.insert(upstream.id().clone(), Arc::new(upstream));
        self.0.store(Arc::new(servers));
    }
}
