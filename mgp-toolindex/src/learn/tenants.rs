//! The learned shifts of all tenants, as many as there may be.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::RandomState;
use mgp_types::mgp::{ServerId, ToolName};

use super::{ConfirmedCall, LONGEST_TENANT, LearnSettings, LearnedState, TenantShift};

/// The learned shifts of all tenants.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    known: HashMap<Box<str>, Tenant, RandomState>,
    /// The count of events, to find the least recent ones.
    clock: u64,
}

#[derive(Debug)]
struct Tenant {
    shift: Arc<TenantShift>,
    heard: u64,
}

impl Tenants {
    /// Returns the tenants of a stored state, as far as they are valid.
    pub(super) fn restore(state: LearnedState, settings: &LearnSettings) -> Self {
        let mut tenants = Self::default();
        let most_tools = settings.most_tools.min(settings.most_tools_in_all);
        for (tenant, shift) in state.into_tenants(most_tools, &mut tenants.clock) {
            tenants.put(&tenant, Arc::new(shift), settings);
        }
        tenants
    }

    /// Returns the shifts of all tenants, the last active one at the end.
    pub(super) fn by_activity(&self) -> Vec<(Box<str>, Arc<TenantShift>)> {
        let mut known: Vec<_> = self.known.iter().filter(|(_, tenant)| !tenant.shift.is_empty()).collect();
        known.sort_unstable_by_key(|(_, tenant)| tenant.heard);
        known.into_iter().map(|(name, tenant)| (name.clone(), Arc::clone(&tenant.shift))).collect()
    }

    /// Returns the shifts of a tenant; `None` if there are none.
    pub(super) fn shift(&mut self, tenant: &str) -> Option<Arc<TenantShift>> {
        let known = self.known.get_mut(tenant)?;
        self.clock += 1;
        known.heard = self.clock;
        (!known.shift.is_empty()).then(|| Arc::clone(&known.shift))
    }

    /// Learns from a call. Returns whether it counted.
    pub(super) fn learn(
        &mut self,
        query: &[f32],
        session: u64,
        called: &ConfirmedCall<'_>,
        settings: &LearnSettings,
    ) -> bool {
        self.clock += 1;
        let (clock, most) = (self.clock, settings.most_tools.min(settings.most_tools_in_all));
        let Some(tenant) = self.known.get_mut(called.tenant) else {
            let mut shift = TenantShift::default();
            let counts = shift.learn(query, session, called, clock, most);
            if counts {
                self.put(called.tenant, Arc::new(shift), settings);
            }
            return counts;
        };
        tenant.heard = clock;
        // The check comes before any copy.
        let counts = tenant.shift.admits(query, session, called)
            && Arc::make_mut(&mut tenant.shift).learn(query, session, called, clock, most);
        self.make_room(settings);
        counts
    }

    pub(super) fn forget(&mut self, tenant: &str) {
        self.known.remove(tenant);
    }

    pub(super) fn forget_tools(&mut self, is_meant: impl Fn(&ServerId, &ToolName) -> bool) {
        for tenant in self.known.values_mut() {
            if tenant.shift.known().any(|((server, tool), _)| is_meant(server, tool)) {
                Arc::make_mut(&mut tenant.shift).forget(&is_meant);
            }
        }
        self.known.retain(|_, tenant| !tenant.shift.is_empty());
    }

    fn put(&mut self, tenant: &str, shift: Arc<TenantShift>, settings: &LearnSettings) {
        if settings.most_tenants == 0 || tenant.len() > LONGEST_TENANT {
            return;
        }
        self.clock += 1;
        self.known.insert(tenant.into(), Tenant { shift, heard: self.clock });
        self.make_room(settings);
    }

    /// Forgets the least recently active tenants while there is too much of all.
    fn make_room(&mut self, settings: &LearnSettings) {
        let tools = |known: &HashMap<_, Tenant, _>| -> usize {
            known.values().map(|tenant| tenant.shift.len()).sum()
        };
        while self.known.len() > settings.most_tenants || tools(&self.known) > settings.most_tools_in_all {
            let oldest = self.known.iter().min_by_key(|(_, tenant)| tenant.heard);
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else { return };
            self.known.remove(&oldest);
        }
    }
}
