//! The builder of a [`Registry`].

use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::mgp::AuditPort;

use super::registration_table::RegistrationTable;
use super::service::{Registry, RegistryInner};
use super::{
    CodeInspector, MemoryRegistryStore, RegistrationPolicy, RegistryStore, RunningServers, StoreError,
};

/// Sets up a [`Registry`].
#[derive(Debug)]
#[must_use]
pub struct RegistryBuilder {
    policy: RegistrationPolicy,
    fleet: Arc<dyn RunningServers>,
    inspector: Option<Arc<dyn CodeInspector>>,
    store: Option<Arc<dyn RegistryStore>>,
    audit: Option<Arc<dyn AuditPort>>,
}

impl RegistryBuilder {
    pub(super) fn new(fleet: Arc<dyn RunningServers>) -> Self {
        let policy = RegistrationPolicy::default();
        Self { policy, fleet, inspector: None, store: None, audit: None }
    }

    /// Sets the policy that registrations are checked against.
    pub fn policy(mut self, policy: RegistrationPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the inspector of scripts of sandboxed servers.
    pub fn inspector(mut self, inspector: Arc<dyn CodeInspector>) -> Self {
        self.inspector = Some(inspector);
        self
    }

    /// Sets the store of registered servers.
    pub fn store(mut self, store: Arc<dyn RegistryStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the audit record of changes and refusals.
    pub fn audit(mut self, audit: Arc<dyn AuditPort>) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Reads the store, which may block, and creates the registry. No server is started before
    /// [`resume`](Registry::resume).
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn build(self) -> Result<Registry, StoreError> {
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryRegistryStore::new()));
        Ok(Registry(Arc::new(RegistryInner {
            shelf: RegistrationTable::of(store.load()?),
            policy: ArcSwap::from_pointee(self.policy),
            fleet: self.fleet,
            inspector: self.inspector,
            store,
            audit: self.audit,
        })))
    }
}
