//! Where pins outlive the process.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Definition, ServerId, ToolName};

/// A tool of which a definition is pinned, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pinned {
    /// The server that lists the tool.
    pub server: ServerId,
    /// What is known of its definition.
    pub state: PinState,
}

/// What is known of the definition of one tool. At least one definition always is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed: a definition waits for approval, has it, or both")]
pub enum PinState {
    /// The definition may be used.
    Approved(Definition),
    /// The first definition waits for approval.
    Asked(Definition),
    /// The tool had an approved definition and is now defined otherwise: it is quarantined.
    Changed {
        /// What was approved.
        approved: Definition,
        /// What waits for approval.
        pending: Definition,
    },
}

impl Pinned {
    /// A tool of `server`.
    pub fn new(server: ServerId, state: PinState) -> Self {
        Self { server, state }
    }

    /// The name of the tool.
    pub fn tool(&self) -> &ToolName {
        match &self.state {
            PinState::Approved(definition) | PinState::Asked(definition) => definition.name(),
            PinState::Changed { approved, .. } => approved.name(),
        }
    }
}

impl PinState {
    /// The approved definition, if there is one.
    pub fn approved(&self) -> Option<&Definition> {
        match self {
            Self::Approved(definition) | Self::Changed { approved: definition, .. } => Some(definition),
            Self::Asked(_) => None,
        }
    }

    /// The definition that waits for approval, if there is one.
    pub fn pending(&self) -> Option<&Definition> {
        match self {
            Self::Approved(_) => None,
            Self::Asked(definition) | Self::Changed { pending: definition, .. } => Some(definition),
        }
    }
}

/// Keeps pins over restarts.
///
/// Calls come one at a time, when a definition is new, changes or is approved; decisions about calls never wait
/// for a store.
pub trait PinStore: fmt::Debug + Send + Sync + 'static {
    /// All pins.
    ///
    /// # Errors
    /// The store cannot be read.
    fn load(&self) -> Result<Vec<Pinned>, StoreError>;

    /// Keeps `pinned` in place of what was known of the tool.
    ///
    /// # Errors
    /// The store cannot be written.
    fn save(&self, pinned: &Pinned) -> Result<(), StoreError>;

    /// Forgets the tool.
    ///
    /// # Errors
    /// The store cannot be written.
    fn remove(&self, server: &ServerId, tool: &ToolName) -> Result<(), StoreError>;
}

impl<S: PinStore> PinStore for Arc<S> {
    fn load(&self) -> Result<Vec<Pinned>, StoreError> {
        (**self).load()
    }

    fn save(&self, pinned: &Pinned) -> Result<(), StoreError> {
        (**self).save(pinned)
    }

    fn remove(&self, server: &ServerId, tool: &ToolName) -> Result<(), StoreError> {
        (**self).remove(server, tool)
    }
}

/// Keeps pins for as long as the process lives.
#[derive(Debug, Default)]
pub struct MemoryPins(Mutex<Vec<Pinned>>);

impl PinStore for MemoryPins {
    fn load(&self) -> Result<Vec<Pinned>, StoreError> {
        Ok(self.0.lock().clone())
    }

    fn save(&self, pinned: &Pinned) -> Result<(), StoreError> {
        let mut all = self.0.lock();
        match all.iter_mut().find(|known| known.server == pinned.server && known.tool() == pinned.tool()) {
            Some(known) => *known = pinned.clone(),
            None => all.push(pinned.clone()),
        }
        Ok(())
    }

    fn remove(&self, server: &ServerId, tool: &ToolName) -> Result<(), StoreError> {
        self.0.lock().retain(|known| known.server != *server || known.tool() != tool);
        Ok(())
    }
}

/// The store of pins failed; what it was to remember has not happened.
#[derive(Debug, thiserror::Error)]
#[error("the store of pinned definitions cannot be used")]
pub struct StoreError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl StoreError {
    /// The store failed because of `cause`.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}
