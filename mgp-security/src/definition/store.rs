//! The store in which pins outlive the process, and the ids under which it keeps them.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Definition, DefinitionKind, DefinitionName, PinAnnotations, Remark, ServerId};
use crate::StoreError;
use mgp_types::canonical::Digest;

/// The stored form of a pin: a tool, prompt or template with its pinned definition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredPin {
    /// The server that lists the definition.
    pub server: ServerId,
    /// The approved version, the version that waits for approval, or both.
    pub state: PinState,
}

/// The known versions of one definition. There is always at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed: a definition waits for approval, has it, or both")]
pub enum PinState {
    /// The definition may be used.
    Approved(Definition),
    /// The first definition waits for approval.
    Asked(Definition),
    /// There was an approved definition, and the server now lists another one: it is quarantined.
    Changed {
        /// The approved definition.
        approved: Definition,
        /// The definition that waits for approval.
        pending: Definition,
    },
}

impl StoredPin {
    /// Returns the pin of a definition of `server`.
    pub const fn new(server: ServerId, state: PinState) -> Self {
        Self { server, state }
    }

    /// Returns the kind and name of the definition.
    pub const fn name(&self) -> &DefinitionName {
        match &self.state {
            PinState::Approved(definition) | PinState::Asked(definition) => definition.name(),
            PinState::Changed { approved, .. } => approved.name(),
        }
    }
}

impl PinState {
    /// Returns the approved definition, if there is one.
    pub fn approved(&self) -> Option<&Definition> {
        match self {
            Self::Approved(definition) | Self::Changed { approved: definition, .. } => Some(definition),
            Self::Asked(_) => None,
        }
    }

    /// Returns the definition that waits for approval, if there is one.
    pub fn pending(&self) -> Option<&Definition> {
        match self {
            Self::Approved(_) => None,
            Self::Asked(definition) | Self::Changed { pending: definition, .. } => Some(definition),
        }
    }
}

/// A store that keeps pins over restarts.
///
/// Calls come one at a time, when a definition is new, changes or is approved; decisions about calls never wait
/// for a store.
pub trait PinStore: fmt::Debug + Send + Sync + 'static {
    /// Returns all pins.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn load(&self) -> Result<Vec<StoredPin>, StoreError>;

    /// Stores `pinned` in place of the earlier state of the definition.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    fn save(&self, pinned: &StoredPin) -> Result<(), StoreError>;

    /// Forgets the definition.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    fn remove(&self, server: &ServerId, name: &DefinitionName) -> Result<(), StoreError>;

    /// Returns all records that are kept beside the pins.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn load_beside(&self) -> Result<PinAnnotations, StoreError>;

    /// Stores `remarks` in place of the earlier ones on the definition.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    fn remark(&self, server: &ServerId, name: &DefinitionName, remarks: &[Remark]) -> Result<(), StoreError>;

    /// Stores the digest of the configuration with which `server` listed its definitions of `kind`.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    fn save_entry(&self, server: &ServerId, kind: DefinitionKind, entry: Digest) -> Result<(), StoreError>;

    /// Forgets the remarks on the definitions of `server`, and the digests of its configuration.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    fn forget_beside(&self, server: &ServerId) -> Result<(), StoreError>;
}

impl<S: PinStore> PinStore for Arc<S> {
    fn load(&self) -> Result<Vec<StoredPin>, StoreError> {
        (**self).load()
    }

    fn save(&self, pinned: &StoredPin) -> Result<(), StoreError> {
        (**self).save(pinned)
    }

    fn remove(&self, server: &ServerId, name: &DefinitionName) -> Result<(), StoreError> {
        (**self).remove(server, name)
    }

    fn load_beside(&self) -> Result<PinAnnotations, StoreError> {
        (**self).load_beside()
    }

    fn remark(&self, server: &ServerId, name: &DefinitionName, remarks: &[Remark]) -> Result<(), StoreError> {
        (**self).remark(server, name, remarks)
    }

    fn save_entry(&self, server: &ServerId, kind: DefinitionKind, entry: Digest) -> Result<(), StoreError> {
        (**self).save_entry(server, kind, entry)
    }

    fn forget_beside(&self, server: &ServerId) -> Result<(), StoreError> {
        (**self).forget_beside(server)
    }
}

/// A store that keeps pins for as long as the process lives.
#[derive(Debug, Default)]
pub struct MemoryPins(Mutex<(Vec<StoredPin>, PinAnnotations)>);

impl PinStore for MemoryPins {
    fn load(&self) -> Result<Vec<StoredPin>, StoreError> {
        Ok(self.0.lock().0.clone())
    }

    fn save(&self, pinned: &StoredPin) -> Result<(), StoreError> {
        let all = &mut self.0.lock().0;
        match all.iter_mut().find(|known| known.server == pinned.server && known.name() == pinned.name()) {
            Some(known) => *known = pinned.clone(),
            None => all.push(pinned.clone()),
        }
        Ok(())
    }

    fn remove(&self, server: &ServerId, name: &DefinitionName) -> Result<(), StoreError> {
        self.0.lock().0.retain(|known| known.server != *server || known.name() != name);
        Ok(())
    }

    fn load_beside(&self) -> Result<PinAnnotations, StoreError> {
        Ok(self.0.lock().1.clone())
    }

    fn remark(&self, server: &ServerId, name: &DefinitionName, remarks: &[Remark]) -> Result<(), StoreError> {
        self.0.lock().1.remark(server, name, remarks.to_vec());
        Ok(())
    }

    fn save_entry(&self, server: &ServerId, kind: DefinitionKind, entry: Digest) -> Result<(), StoreError> {
        self.0.lock().1.entries.insert((server.clone(), kind), entry);
        Ok(())
    }

    fn forget_beside(&self, server: &ServerId) -> Result<(), StoreError> {
        self.0.lock().1.forget(server);
        Ok(())
    }
}

/// The separator between the id of a server and that of an agent. No server id contains it.
const OF: char = '@';

/// Returns the id under which the definitions are pinned that `server` lists on the connection of `agent`: a list shown
/// to one agent neither approves nor holds definitions shown to another.
pub fn pinned_for(server: &ServerId, agent: &str) -> ServerId {
    ServerId::new(format!("{server}{OF}{agent}"))
}

/// Returns the server whose definitions are pinned under `holder`.
pub fn server_of(holder: &ServerId) -> &str {
    let holder = holder.as_str();
    holder.split_once(OF).map_or(holder, |(server, _)| server)
}
