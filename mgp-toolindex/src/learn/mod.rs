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

mod definition;
mod hex;
mod shift;
mod state;
mod tenants;
mod uses;

use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::quality::RandomState;
use mgp_types::mgp::{ServerId, ToolName};
use parking_lot::Mutex;
use tokio::sync::watch;

pub(crate) use self::definition::DefinitionDigest;
pub(crate) use self::shift::{Shift, TenantShift};
pub use self::state::LearnedState;
use self::tenants::Tenants;
use self::uses::Uses;

/// The limits of learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LearnSettings {
    /// The number of tenants; beyond that the least recently active one is forgotten.
    pub most_tenants: usize,
    /// The number of tools of each tenant; beyond that the least recently used one is forgotten.
    pub most_tools: usize,
    /// The number of tools of all tenants together; beyond that the least recently active tenant is forgotten.
    pub most_tools_in_all: usize,
}

impl Default for LearnSettings {
    fn default() -> Self {
        Self { most_tenants: 256, most_tools: 512, most_tools_in_all: 8192 }
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
    /// The definition of the tool.
    pub(crate) definition: DefinitionDigest,
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
    changes: watch::Sender<u64>,
}

impl ConfirmedCall<'_> {
    fn key(&self) -> (ServerId, ToolName) {
        (self.server.clone(), self.tool.clone())
    }
}

/// The length of a tenant's name at most, in bytes.
const LONGEST_TENANT: usize = 256;

/// The likeness below which a tool has nothing to do with a query.
const LEAST_SCORE: f32 = 0.1;

impl LearnedUses {
    /// Creates an empty state for the vectors of the embedder with this id; another embedder needs another state.
    pub fn new(settings: LearnSettings, embedder: &str) -> Self {
        Self {
            settings,
            embedder: Mutex::new(embedder.into()),
            sessions: RandomState::default(),
            tenants: Mutex::default(),
            changes: watch::Sender::default(),
        }
    }

    /// Returns the id of the embedder whose vectors are learned from.
    pub fn embedder(&self) -> Arc<str> {
        Arc::clone(&self.embedder.lock())
    }

    /// Returns the number of changes so far, for those who store the state whenever it changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Learns from the vectors of another embedder from now on, and forgets what was learned from others.
    pub fn change_embedder(&self, embedder: &str) {
        self.begin_with(embedder, Tenants::default());
    }

    /// Restores a stored state, if the embedder is the same; else returns an empty one.
    pub fn restore(settings: LearnSettings, embedder: &str, state: LearnedState) -> Self {
        let learned = Self::new(settings, embedder);
        if state.embedder() == embedder {
            learned.load(state);
        }
        learned
    }

    /// Goes on with a stored state and its embedder, in place of all that was learned so far.
    pub fn load(&self, state: LearnedState) {
        let embedder = Arc::<str>::from(state.embedder());
        self.begin_with(&embedder, Tenants::restore(state, &self.settings));
    }

    /// Returns the state, to be stored.
    pub fn state(&self) -> LearnedState {
        let (embedder, tenants) = {
            let tenants = self.tenants.lock();
            (self.embedder(), tenants.by_activity())
        };
        LearnedState::of(&embedder, tenants.iter().map(|(name, shift)| (&**name, &**shift)))
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
        let counts = self.tenants.lock().learn(&query, session, confirmed, &self.settings);
        if counts {
            self.note_change();
        }
        counts
    }

    /// Returns the learned shifts of a tenant; `None` if there are none.
    pub(crate) fn shift(&self, tenant: &str) -> Option<Arc<TenantShift>> {
        self.tenants.lock().shift(tenant)
    }

    /// Forgets the shifts of a tenant.
    pub fn forget(&self, tenant: &str) {
        self.tenants.lock().forget(tenant);
        self.note_change();
    }

    /// Forgets the shifts of the tools that `is_meant` returns true for, for all tenants.
    pub fn forget_tools(&self, is_meant: impl Fn(&ServerId, &ToolName) -> bool) {
        self.tenants.lock().forget_tools(is_meant);
        self.note_change();
    }

    fn begin_with(&self, embedder: &str, begun: Tenants) {
        let tenants = &mut *self.tenants.lock();
        *self.embedder.lock() = embedder.into();
        *tenants = begun;
        self.note_change();
    }

    fn note_change(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
