//! The pinned definitions: those that may be used, and those that wait for approval.

mod annotations;

use std::sync::Arc;

use arc_swap::ArcSwap;
use foldhash::HashMap;
use parking_lot::Mutex;

use super::store::{PinStore, server_of};
use super::verdicts::Verdicts;
use super::{
    ConfiguredServer, Definition, DefinitionKind, DefinitionName, DefinitionStatus, PinAnnotations, PinState,
    Remark, RemarkKind, ServerId,
};
use crate::StoreError;
use mgp_store::Database;
use mgp_types::canonical::Digest;

/// The pinned definitions of all servers.
///
/// Reading is one load of a snapshot without locks. Writing goes to the store first and becomes visible only when the
/// store has it, so that a quarantine survives a restart. A definition that is no longer listed stays pinned: a tool
/// that comes back under its old name with another definition has changed.
#[derive(Debug)]
pub struct PinnedDefinitions {
    trusts_first_lists: bool,
    store: PinStore,
    snapshot: ArcSwap<Snapshot>,
    /// The lock that writers take in turn; readers never wait for them.
    turn: Mutex<()>,
}

#[derive(Debug, Clone, Default)]
struct Snapshot {
    servers: HashMap<ServerId, ByKind>,
    beside: Arc<PinAnnotations>,
}

/// The pinned definitions of one server, by the number of their kind.
type ByKind = [Arc<ByName>; DefinitionKind::ALL.len()];

pub(super) type ByName = HashMap<Box<str>, PinState>;

impl PinnedDefinitions {
    /// Returns the pins in `database`. A definition that was never seen before waits for approval.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn load(database: Database) -> Result<Self, StoreError> {
        let store = PinStore::new(database)?;
        let (snapshot, turn) = (ArcSwap::default(), Mutex::new(()));
        let pins = Self { trusts_first_lists: false, store, snapshot, turn };
        pins.reload()?;
        Ok(pins)
    }

    /// Reads the pins anew, after another kernel changed them. It may wait for a disk.
    ///
    /// # Errors
    /// Fails if the store cannot be read; the pins are then as before.
    pub fn reload(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock();
        self.read()
    }

    /// Has the pins in memory be those of the store, while the writers' lock is held.
    fn read(&self) -> Result<(), StoreError> {
        let mut snapshot = Snapshot::default();
        for (server, state) in self.store.load()? {
            let (kind, name) = (state.name().kind(), state.name().as_str().into());
            let kinds = snapshot.servers.entry(server).or_default();
            // The snapshot is not shared yet, so nothing is copied.
            Arc::make_mut(&mut kinds[kind as usize]).insert(name, state);
        }
        snapshot.beside = Arc::new(self.store.load_beside()?);
        self.snapshot.store(Arc::new(snapshot));
        Ok(())
    }

    mgp_types::setters! { #[must_use] self =>
        /// Approves the definitions in the first list of each server as they are: trust on first use. What the server
        /// adds later waits for approval like a change, unless the server is trusted to grow.
        pub fn trusting_first_lists() => self.trusts_first_lists = true;
    }

    /// Compares the definitions of `kind` that `server` lists with the pinned ones, and pins new ones.
    ///
    /// Returns one verdict per definition, in their order. Changes of the configuration are noted: the definitions that
    /// wait for approval in the first list after it has changed are remarked, and none that wait later.
    ///
    /// # Errors
    /// Fails if the store cannot be written; no definition of the list is then approved that was not before.
    pub fn observe(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        listed: &[Definition],
        configured: &ConfiguredServer,
    ) -> Result<Vec<Option<DefinitionStatus>>, StoreError> {
        let _turn = self.turn.lock();
        let verdicts = loop {
            if let Some(verdicts) = self.compare(server, kind, listed, configured.grows)? {
                break verdicts;
            }
        };
        if let Some(entry) = configured.entry {
            self.note_entry(server, kind, entry, listed.iter().zip(&verdicts))?;
        }
        Ok(verdicts)
    }

    /// Returns the verdicts about the definitions of a list, and pins new ones; `None` if another kernel changed one of them.
    fn compare(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        listed: &[Definition],
        grows: bool,
    ) -> Result<Option<Vec<Option<DefinitionStatus>>>, StoreError> {
        let mut writing = PinWrite::new(self, server, kind);
        let count_before = writing.known.len();
        let trusts_new = self.trusts_first_lists && (count_before == 0 || grows);
        let mut verdicts = Vec::with_capacity(listed.len());
        for definition in listed {
            let state = writing.state(definition.name());
            let count = count_before + verdicts.len();
            let has_room = state.is_some() || count < MAX_OF_KIND;
            let beside = if has_room { self.beside(server, state, definition) } else { None };
            let (next, verdict) =
                self.judge(server, beside.as_ref().or(state), definition, (count, trusts_new));
            if let Some(next) = next.or(beside) {
                writing.put(next);
            }
            verdicts.push(verdict);
        }
        Ok(writing.save()?.then_some(verdicts))
    }

    /// Approves the definition called `name` that has `digest`, the one that the approver has seen.
    ///
    /// # Errors
    /// Fails if no definition waits for approval, another one does, or the store cannot be written.
    pub fn approve(
        &self,
        server: &ServerId,
        name: &DefinitionName,
        digest: Digest,
    ) -> Result<(), ApproveError> {
        let _turn = self.turn.lock();
        loop {
            let mut writing = PinWrite::new(self, server, name.kind());
            let pending = writing.state(name).and_then(PinState::pending).cloned();
            let pending = pending.ok_or(ApproveError::NothingPending)?;
            if pending.digest() != digest {
                return Err(ApproveError::OtherPending(pending.digest()));
            }
            writing.put(PinState::Approved(pending));
            if writing.save()? {
                break;
            }
        }
        // The definition is approved, so the remark that it waits because of a changed configuration is removed.
        let is_kept = |remark: &Remark| remark.digest == digest && remark.what != RemarkKind::Reconfigured;
        self.remark(server, name, is_kept, [])?;
        Ok(())
    }

    /// Returns whether the definition of `kind` called `name` may be used: it is approved, and the last list did not
    /// change it.
    pub fn is_approved(&self, server: &ServerId, kind: DefinitionKind, name: &str) -> bool {
        let snapshot = self.snapshot.load();
        matches!(snapshot.of(server, kind).and_then(|known| known.get(name)), Some(PinState::Approved(_)))
    }

    /// Returns the ids under which definitions of `server` are pinned.
    pub(super) fn holders(&self, server: &ServerId) -> Vec<ServerId> {
        let snapshot = self.snapshot.load();
        snapshot.servers.keys().filter(|holder| server_of(holder) == server.as_str()).cloned().collect()
    }

    /// Returns the state of the definition called `name`.
    pub fn state(&self, server: &ServerId, name: &DefinitionName) -> Option<PinState> {
        self.snapshot.load().of(server, name.kind())?.get(name.as_str()).cloned()
    }

    /// Returns all pins, each with the id that it is pinned for, by this id, kind and name.
    pub fn all(&self) -> Vec<(ServerId, PinState)> {
        let snapshot = self.snapshot.load();
        let all = snapshot.servers.iter().flat_map(|(server, kinds)| {
            kinds.iter().flat_map(|known| known.values()).map(|state| (server.clone(), state.clone()))
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by(|one, other| (&one.0, one.1.name()).cmp(&(&other.0, other.1.name())));
        all
    }

    /// Returns the definitions of `kind` that wait for approval.
    pub(super) fn waiting(&self, kind: DefinitionKind) -> Vec<(ServerId, DefinitionName)> {
        let snapshot = self.snapshot.load();
        let waiting = snapshot.servers.iter().flat_map(|(server, kinds)| {
            let waiting = kinds[kind as usize].iter().filter(|(_, state)| state.pending().is_some());
            waiting.map(|(name, _)| (server.clone(), DefinitionName::new(kind, name.clone())))
        });
        waiting.collect()
    }

    /// Returns the verdicts on definitions that are stored beside the pins.
    pub(super) fn verdicts(&self) -> Result<Verdicts, StoreError> {
        self.store.verdicts()
    }

    /// Returns the pins of `kind` for `server`.
    pub(super) fn known(&self, server: &ServerId, kind: DefinitionKind) -> Arc<ByName> {
        self.snapshot.load().of(server, kind).cloned().unwrap_or_default()
    }

    /// Returns the state that an agent's own connection starts with, where nothing was approved for it: the definition,
    /// if it is approved for another connection to the same server; else the one approved for the server as a whole.
    fn beside(&self, holder: &ServerId, own: Option<&PinState>, now: &Definition) -> Option<PinState> {
        let server = server_of(holder);
        if server == holder.as_str() || own.is_some_and(|own| own.approved().is_some()) {
            return None;
        }
        let snapshot = self.snapshot.load();
        let of_server = snapshot.servers.iter().filter(|(other, _)| server_of(other) == server);
        let name = now.name();
        let mut approved = of_server.filter_map(|(other, kinds)| {
            Some((other, kinds[name.kind() as usize].get(name.as_str())?.approved()?))
        });
        let same = approved.clone().find(|(_, definition)| *definition == now);
        let found = same.or_else(|| approved.find(|(other, _)| own.is_none() && other.as_str() == server))?;
        Some(PinState::Approved(found.1.clone()))
    }

    /// Returns the state to store, if it differs from the stored one, and why the definition must not be used, if it must
    /// not.
    fn judge(
        &self,
        server: &ServerId,
        state: Option<&PinState>,
        now: &Definition,
        (count, trusts_new): (usize, bool),
    ) -> (Option<PinState>, Option<DefinitionStatus>) {
        let Some(state) = state else {
            if count >= MAX_OF_KIND {
                let is_tool = now.name().kind() == DefinitionKind::Tool;
                let rule = if is_tool { "too-many-tools" } else { "too-many-definitions" };
                return (None, Some(DefinitionStatus::Refused(rule)));
            }
            let now = now.clone();
            return if trusts_new {
                (Some(PinState::Approved(now)), None)
            } else {
                (Some(PinState::Asked(now)), Some(DefinitionStatus::New))
            };
        };
        let Some(approved) = state.approved() else {
            let next = (state.pending() != Some(now)).then(|| PinState::Asked(now.clone()));
            return (next, Some(DefinitionStatus::New));
        };
        if self.is_alike(server, approved, now) {
            let released = state.pending().is_some().then(|| PinState::Approved(approved.clone()));
            return (released, None);
        }
        let next = (state.pending() != Some(now))
            .then(|| PinState::Changed { approved: approved.clone(), pending: now.clone() });
        (next, Some(DefinitionStatus::Changed))
    }
}

/// A pending change to the pins of one kind for one server, made while the writers' lock is held.
struct PinWrite<'a> {
    pins: &'a PinnedDefinitions,
    server: &'a ServerId,
    kind: DefinitionKind,
    known: Arc<ByName>,
    /// The states, once one differs from the known one.
    states: Option<ByName>,
    /// The new states, each with the one before it.
    changed: Vec<(Option<PinState>, PinState)>,
}

impl<'p> PinWrite<'p> {
    fn new(pins: &'p PinnedDefinitions, server: &'p ServerId, kind: DefinitionKind) -> Self {
        Self { pins, server, kind, known: pins.known(server, kind), states: None, changed: Vec::new() }
    }

    fn state(&self, name: &DefinitionName) -> Option<&PinState> {
        self.states.as_ref().unwrap_or(&self.known).get(name.as_str())
    }

    fn put(&mut self, state: PinState) {
        let before = self.state(state.name()).cloned();
        let states = self.states.get_or_insert_with(|| ByName::clone(&self.known));
        states.insert(state.name().as_str().into(), state.clone());
        self.changed.push((before, state));
    }

    /// Stores the new states, and makes them visible once the store has them. Returns whether it has: if another kernel
    /// changed one of those before, what it stored is read instead.
    fn save(self) -> Result<bool, StoreError> {
        let Some(states) = self.states else { return Ok(true) };
        if !self.pins.store.save(self.server, &self.changed)? {
            self.pins.read()?;
            return Ok(false);
        }
        let mut snapshot = Snapshot::clone(&self.pins.snapshot.load());
        let kinds = snapshot.servers.entry(self.server.clone()).or_default();
        kinds[self.kind as usize] = Arc::new(states);
        self.pins.snapshot.store(Arc::new(snapshot));
        Ok(true)
    }
}

impl Snapshot {
    fn of(&self, server: &ServerId, kind: DefinitionKind) -> Option<&Arc<ByName>> {
        Some(&self.servers.get(server)?[kind as usize])
    }
}

/// The reason why a definition was not approved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApproveError {
    /// No definition of that name waits for approval.
    #[error("no definition of that name waits for approval")]
    NothingPending,
    /// The definition has changed again since the approver looked at it.
    #[error("another definition waits for approval by now: {0}")]
    OtherPending(Digest),
    /// A rule that the approver did not name found something in the definition.
    #[error("{0} found something in the definition: whoever approves it has to name that")]
    Found(&'static str),
    /// The form or the name of the definition is wrong, so that it cannot be used as it is.
    #[error("the definition breaks the rule {0}, and can be approved only after its server has corrected it")]
    Refused(&'static str),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The largest number of pins of each kind for one server. Pins outlive what a server lists, so without a bound a
/// server that lists new names each time would fill memory and disk.
const MAX_OF_KIND: usize = 10_000;

#[cfg(test)]
mod tests;
