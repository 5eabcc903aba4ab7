//! The definitions that may be used, and those that wait for approval.

use std::collections::HashSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use foldhash::HashMap;
use parking_lot::Mutex;

use super::holder::server_of;
use super::names::Names;
use super::{Definition, Diff, PinState, PinStore, Pinned, ServerId, ToolName};
use crate::StoreError;
use crate::canonical::Digest;

/// The pinned definitions of all servers.
///
/// Reading is one load of a snapshot without locks. Writing goes to the store first and becomes visible only when
/// the store has it, so that a quarantine survives a restart. A tool that is gone stays pinned: one that comes
/// back under its old name with another definition has changed.
#[derive(Debug)]
pub struct Pins {
    policy: FirstUse,
    store: Box<dyn PinStore>,
    snapshot: ArcSwap<Snapshot>,
    /// Writers take turns; readers never wait for them.
    turn: Mutex<()>,
}

/// What happens to a tool that was never seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FirstUse {
    /// It waits for approval.
    #[default]
    Ask,
    /// It is approved as it is: trust on first use.
    Trust,
}

/// What became of a definition that a server lists, or of one that it no longer lists.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The definition is the approved one.
    Known,
    /// The tool has no approved definition yet, or has it since now.
    FirstSeen {
        /// Whether it was approved at once.
        approved: bool,
    },
    /// The definition is not the approved one: the tool is quarantined.
    Changed {
        /// What changed.
        diff: Diff,
    },
    /// The server has more tools than are pinned of one server; this one is not to be used.
    Crowded,
    /// The tool is pinned and was not listed.
    Gone,
}

#[derive(Debug, Clone, Default)]
struct Snapshot {
    servers: HashMap<ServerId, Arc<HashMap<ToolName, PinState>>>,
    /// The names of the tools that have an approved definition.
    names: Arc<Names>,
}

impl Pins {
    /// The pins that `store` remembers.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn load(policy: FirstUse, store: impl PinStore) -> Result<Self, StoreError> {
        let mut servers: HashMap<ServerId, HashMap<ToolName, PinState>> = HashMap::default();
        for pinned in store.load()? {
            let tool = pinned.tool().clone();
            servers.entry(pinned.server).or_default().insert(tool, pinned.state);
        }
        let servers = servers.into_iter().map(|(server, tools)| (server, Arc::new(tools))).collect();
        let mut snapshot = Snapshot { servers, names: Arc::default() };
        snapshot.index_names();
        Ok(Self {
            policy,
            store: Box::new(store),
            snapshot: ArcSwap::from_pointee(snapshot),
            turn: Mutex::new(()),
        })
    }

    /// Compares what `server` lists with what is pinned, and pins what is new.
    ///
    /// There is one verdict per definition, in their order, and then one for each tool that is gone.
    ///
    /// # Errors
    /// The store cannot be written. What was decided up to then holds; the rest is not approved.
    pub fn observe(
        &self,
        server: &ServerId,
        listed: &[Definition],
    ) -> Result<Vec<(ToolName, Verdict)>, StoreError> {
        let _turn = self.turn.lock();
        let known = self.tools(server);
        let mut writing = Writing { pins: self, server, tools: None };
        let mut verdicts = Vec::with_capacity(listed.len());
        for definition in listed {
            let state = writing.state(&known, definition.name());
            let count = known.len() + verdicts.len();
            let has_room = state.is_some() || count < MAX_TOOLS;
            let beside = if has_room { self.beside(server, state, definition) } else { None };
            let (next, verdict) = self.judge(beside.as_ref().or(state), definition, count);
            let next = next.or(beside);
            if let Some(next) = next {
                writing.save(&known, next)?;
            }
            verdicts.push((definition.name().clone(), verdict));
        }
        writing.publish();
        let names: HashSet<&ToolName> = listed.iter().map(Definition::name).collect();
        let gone = known.keys().filter(|name| !names.contains(name));
        verdicts.extend(gone.map(|name| (name.clone(), Verdict::Gone)));
        Ok(verdicts)
    }

    /// Approves the definition of `tool` that has `digest`, which is what whoever approves has seen.
    ///
    /// # Errors
    /// No definition waits for approval, another one does, or the store cannot be written.
    pub fn approve(&self, server: &ServerId, tool: &ToolName, digest: Digest) -> Result<(), ApproveError> {
        let _turn = self.turn.lock();
        let known = self.tools(server);
        let pending = known.get(tool).and_then(PinState::pending).ok_or(ApproveError::NothingPending)?;
        if pending.digest() != digest {
            return Err(ApproveError::OtherPending(pending.digest()));
        }
        let mut writing = Writing { pins: self, server, tools: None };
        writing.save(&known, PinState::Approved(pending.clone()))?;
        writing.publish();
        Ok(())
    }

    /// Forgets all tools of `server`, which was removed from the configuration.
    ///
    /// # Errors
    /// The store cannot be written; the tools it could not forget stay pinned.
    pub fn forget(&self, server: &ServerId) -> Result<(), StoreError> {
        let _turn = self.turn.lock();
        for tool in self.tools(server).keys() {
            self.store.remove(server, tool)?;
        }
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        snapshot.servers.remove(server);
        snapshot.index_names();
        self.snapshot.store(Arc::new(snapshot));
        Ok(())
    }

    /// Whether `tool` may be called: it has an approved definition and was not listed with another since.
    pub fn is_approved(&self, server: &ServerId, tool: &ToolName) -> bool {
        let snapshot = self.snapshot.load();
        let state = snapshot.servers.get(server).and_then(|tools| tools.get(tool));
        matches!(state, Some(PinState::Approved(_)))
    }

    /// Under which ids definitions of `server` are pinned.
    pub(super) fn holders(&self, server: &ServerId) -> Vec<ServerId> {
        let snapshot = self.snapshot.load();
        snapshot.servers.keys().filter(|holder| server_of(holder) == server.as_str()).cloned().collect()
    }

    /// What is known of `tool`.
    pub fn state(&self, server: &ServerId, tool: &ToolName) -> Option<PinState> {
        self.snapshot.load().servers.get(server)?.get(tool).cloned()
    }

    /// All tools that are pinned, by server and name.
    pub fn all(&self) -> Vec<Pinned> {
        let snapshot = self.snapshot.load();
        let all = snapshot.servers.iter().flat_map(|(server, tools)| {
            tools.values().map(|state| Pinned::new(server.clone(), state.clone()))
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by(|one, other| (&one.server, one.tool()).cmp(&(&other.server, other.tool())));
        all
    }

    /// All tools of which a definition waits for approval.
    pub fn pending(&self) -> Vec<Pinned> {
        let mut all = self.all();
        all.retain(|pinned| pinned.state.pending().is_some());
        all
    }

    /// The names of the tools that have an approved definition.
    pub(super) fn names(&self) -> Arc<Names> {
        Arc::clone(&self.snapshot.load().names)
    }

    fn tools(&self, server: &ServerId) -> Arc<HashMap<ToolName, PinState>> {
        self.snapshot.load().servers.get(server).cloned().unwrap_or_default()
    }

    /// What an agent's own connection begins with, where nothing was approved for it: the definition, if it is approved
    /// for another connection to the same server; else what is approved for the server as a whole.
    fn beside(&self, holder: &ServerId, own: Option<&PinState>, now: &Definition) -> Option<PinState> {
        let server = server_of(holder);
        if server == holder.as_str() || own.is_some_and(|own| own.approved().is_some()) {
            return None;
        }
        let snapshot = self.snapshot.load();
        let of_server = snapshot.servers.iter().filter(|(other, _)| server_of(other) == server);
        let mut approved =
            of_server.filter_map(|(other, tools)| Some((other, tools.get(now.name())?.approved()?)));
        let same = approved.clone().find(|(_, definition)| *definition == now);
        let found = same.or_else(|| approved.find(|(other, _)| own.is_none() && other.as_str() == server))?;
        Some(PinState::Approved(found.1.clone()))
    }

    /// What to keep, if it is not what is kept already, and the verdict.
    fn judge(&self, state: Option<&PinState>, now: &Definition, count: usize) -> (Option<PinState>, Verdict) {
        let Some(state) = state else {
            if count >= MAX_TOOLS {
                return (None, Verdict::Crowded);
            }
            return match self.policy {
                FirstUse::Ask => (Some(PinState::Asked(now.clone())), Verdict::FirstSeen { approved: false }),
                FirstUse::Trust => {
                    (Some(PinState::Approved(now.clone())), Verdict::FirstSeen { approved: true })
                }
            };
        };
        let Some(approved) = state.approved() else {
            let next = (state.pending() != Some(now)).then(|| PinState::Asked(now.clone()));
            return (next, Verdict::FirstSeen { approved: false });
        };
        if approved == now {
            let released = state.pending().is_some().then(|| PinState::Approved(now.clone()));
            return (released, Verdict::Known);
        }
        let diff = Diff::between(approved, now);
        let next = (state.pending() != Some(now))
            .then(|| PinState::Changed { approved: approved.clone(), pending: now.clone() });
        (next, Verdict::Changed { diff })
    }
}

/// The changes to the tools of one server, while the turn is held. They become visible when it is dropped, so
/// that what the store has is seen even if a later write fails.
struct Writing<'a> {
    pins: &'a Pins,
    server: &'a ServerId,
    /// The tools as they will be, once one of them differs.
    tools: Option<HashMap<ToolName, PinState>>,
}

impl Writing<'_> {
    fn state<'a>(&'a self, known: &'a HashMap<ToolName, PinState>, tool: &ToolName) -> Option<&'a PinState> {
        self.tools.as_ref().unwrap_or(known).get(tool)
    }

    fn save(&mut self, known: &HashMap<ToolName, PinState>, state: PinState) -> Result<(), StoreError> {
        let pinned = Pinned::new(self.server.clone(), state);
        self.pins.store.save(&pinned)?;
        let tool = pinned.tool().clone();
        self.tools.get_or_insert_with(|| known.clone()).insert(tool, pinned.state);
        Ok(())
    }

    fn publish(self) {
        drop(self);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let Some(tools) = self.tools.take() else { return };
        let mut snapshot = Snapshot::clone(&self.pins.snapshot.load());
        let mut names = Names::clone(&snapshot.names);
        for (tool, _) in tools.iter().filter(|(_, state)| state.approved().is_some()) {
            names.insert(self.server, tool);
        }
        snapshot.names = Arc::new(names);
        snapshot.servers.insert(self.server.clone(), Arc::new(tools));
        self.pins.snapshot.store(Arc::new(snapshot));
    }
}

impl Snapshot {
    fn index_names(&mut self) {
        let mut names = Names::default();
        for (server, tools) in &self.servers {
            for (tool, _) in tools.iter().filter(|(_, state)| state.approved().is_some()) {
                names.insert(server, tool);
            }
        }
        self.names = Arc::new(names);
    }
}

/// Why a definition was not approved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApproveError {
    /// No definition of the tool waits for approval.
    #[error("no definition of the tool waits for approval")]
    NothingPending,
    /// The definition has changed again since it was looked at.
    #[error("another definition waits for approval by now: {0}")]
    OtherPending(Digest),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many tools of one server are pinned. Pins outlive what a server lists, so without a bound a server that
/// lists new names each time would fill memory and disk.
const MAX_TOOLS: usize = 10_000;

#[cfg(test)]
mod tests;
