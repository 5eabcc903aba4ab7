//! Learning from use: a tool that was found and then called comes nearer to the queries that led to it.
//!
//! Nothing is learned unless there is a [`LearnedUses`], and the shifts of one tenant change nothing for another. Learning
//! is bounded: in memory, in how far a tool comes nearer, and in the influence of one session. A session that calls a
//! tool again and again moves it once.
//!
//! ```
//! use mgp_toolindex::discovery::ToolDiscoverySettings;
//! use mgp_toolindex::learn::{LearnSettings, LearnedUses};
//! use std::sync::Arc;
//!
//! let learned = Arc::new(LearnedUses::new(LearnSettings::default(), "static-128"));
//! let settings = ToolDiscoverySettings::new().learning(Arc::clone(&learned));
//! // The gate with these settings learns from searches and calls; the state survives a restart.
//! let restored = LearnedUses::restore(LearnSettings::default(), "static-128", learned.state());
//! assert_eq!(restored.embedder(), learned.embedder());
//! # drop(settings);
//! ```

mod shift;
mod state;
mod uses;

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::quality::RandomState;
use mgp_types::mgp::{ServerId, ToolName};
use parking_lot::Mutex;

pub(crate) use self::shift::{Shift, TenantShift};
pub use self::state::LearnedState;
use self::uses::Uses;

/// The limits of learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LearnSettings {
    /// The number of tenants; beyond that the least recently active one is forgotten.
    pub most_tenants: usize,
    /// The number of tools of each tenant; beyond that the least recently used one is forgotten.
    pub most_tools: usize,
}

impl Default for LearnSettings {
    fn default() -> Self {
        Self { most_tenants: 256, most_tools: 512 }
    }
}

/// A call that followed a search: the search had the tool in its answer, and the call succeeded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfirmedCall<'a> {
    /// The tenant that learns.
    pub(crate) tenant: &'a str,
    /// The session of the call. A session has one voice for each tool.
    pub(crate) session: &'a str,
    /// The server of the tool.
    pub(crate) server: &'a ServerId,
    /// The tool that was called.
    pub(crate) tool: &'a ToolName,
    /// The vector of the query.
    pub(crate) query: &'a [f32],
    /// The likeness of the tool and the query by meaning, before any shift.
    pub(crate) score: f32,
}

/// The learned shifts of all tenants, with the vectors of one embedder.
#[derive(Debug)]
pub struct LearnedUses {
    settings: LearnSettings,
    embedder: Mutex<Arc<str>>,
    sessions: RandomState,
    tenants: Mutex<Tenants>,
}

#[derive(Debug, Default)]
struct Tenants {
    known: HashMap<Box<str>, Tenant, RandomState>,
    /// The count of events, to find the least recent ones.
    clock: u64,
}

#[derive(Debug)]
struct Tenant {
    shift: Arc<TenantShift>,
    heard: u64,
}

/// The length of a tenant's name at most, in bytes.
const LONGEST_TENANT: usize = 256;

/// The likeness below which a tool has nothing to do with a query.
const LEAST_SCORE: f32 = 0.1;

impl LearnedUses {
    /// Creates an empty state for the vectors of the embedder with this id; another embedder needs another state.
    pub fn new(settings: LearnSettings, embedder: &str) -> Self {
        let (sessions, tenants) = (RandomState::default(), Mutex::default());
        Self { settings, embedder: Mutex::new(embedder.into()), sessions, tenants }
    }

    /// Returns the id of the embedder whose vectors are learned from.
    pub fn embedder(&self) -> Arc<str> {
        Arc::clone(&self.embedder.lock())
    }

    /// Learns from the vectors of another embedder from now on, and forgets what was learned from others.
    pub fn change_embedder(&self, embedder: &str) {
        let tenants = &mut *self.tenants.lock();
        *self.embedder.lock() = embedder.into();
        tenants.known.clear();
    }

    /// Restores a stored state, if the embedder is the same; else returns an empty one.
    pub fn restore(settings: LearnSettings, embedder: &str, state: LearnedState) -> Self {
        let learned = Self::new(settings, embedder);
        if state.embedder() == embedder {
            let tenants = &mut *learned.tenants.lock();
            for (tenant, shift) in state.into_tenants(settings.most_tools, &mut tenants.clock) {
                tenants.put(&tenant, Arc::new(shift), settings.most_tenants);
            }
        }
        learned
    }

    /// Returns the state, to be stored.
    pub fn state(&self) -> LearnedState {
        let mut tenants: Vec<_> = {
            let tenants = self.tenants.lock();
            let known = tenants.known.iter();
            known.map(|(name, tenant)| (tenant.heard, name.clone(), Arc::clone(&tenant.shift))).collect()
        };
        tenants.sort_unstable_by_key(|(heard, ..)| *heard);
        LearnedState::of(&self.embedder(), tenants.iter().map(|(_, name, shift)| (&**name, &**shift)))
    }

    /// Learns from a call. Returns whether the call counts: it does not if the session counted for this tool before, if
    /// the query has nothing to do with the tool, or if the query is no valid vector.
    pub(crate) fn confirm(&self, confirmed: &ConfirmedCall<'_>) -> bool {
        let Some(query) = uses::unit(confirmed.query) else { return false };
        // The comparison is also false for NaN.
        let related = confirmed.score >= LEAST_SCORE;
        if !related || confirmed.tenant.len() > LONGEST_TENANT {
            return false;
        }
        let session = self.sessions.hash_one(confirmed.session);
        let tenants = &mut *self.tenants.lock();
        tenants.clock += 1;
        let clock = tenants.clock;
        let tool = (confirmed.server.clone(), confirmed.tool.clone());
        if let Some(tenant) = tenants.known.get_mut(confirmed.tenant) {
            tenant.heard = clock;
            // The check comes before any copy.
            return tenant.shift.admits(&tool, &query, session)
                && Arc::make_mut(&mut tenant.shift)
                    .learn(tool, &query, session, clock, self.settings.most_tools);
        }
        let mut shift = TenantShift::default();
        let counts = shift.learn(tool, &query, session, clock, self.settings.most_tools);
        if counts {
            tenants.put(confirmed.tenant, Arc::new(shift), self.settings.most_tenants);
        }
        counts
    }

    /// Returns the learned shifts of a tenant; `None` if there are none.
    pub(crate) fn shift(&self, tenant: &str) -> Option<Arc<TenantShift>> {
        let tenants = &mut *self.tenants.lock();
        let known = tenants.known.get_mut(tenant)?;
        tenants.clock += 1;
        known.heard = tenants.clock;
        (!known.shift.is_empty()).then(|| Arc::clone(&known.shift))
    }

    /// Forgets the shifts of a tenant.
    pub fn forget(&self, tenant: &str) {
        self.tenants.lock().known.remove(tenant);
    }

    /// Forgets the shifts of a tool, for all tenants. A tool whose definition changed may be another tool.
    pub(crate) fn forget_tool(&self, server: &ServerId, tool: &ToolName) {
        let tool = (server.clone(), tool.clone());
        for tenant in self.tenants.lock().known.values_mut() {
            if tenant.shift.knows(&tool) {
                Arc::make_mut(&mut tenant.shift).forget(&tool);
            }
        }
    }
}

impl Tenants {
    fn put(&mut self, tenant: &str, shift: Arc<TenantShift>, most: usize) {
        if most == 0 || tenant.len() > LONGEST_TENANT {
            return;
        }
        if self.known.len() >= most {
            let oldest =
                self.known.iter().min_by_key(|(_, tenant)| tenant.heard).map(|(name, _)| name.clone());
            if let Some(oldest) = oldest {
                self.known.remove(&oldest);
            }
        }
        self.clock += 1;
        self.known.insert(tenant.into(), Tenant { shift, heard: self.clock });
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
