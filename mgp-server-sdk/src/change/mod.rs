//! Changes of the catalog, resources and tasks, and the listeners that get notifications of them.

mod listen;
mod listeners;
mod pending_changes;

use std::sync::Arc;

pub(crate) use self::listen::listen;
pub(crate) use self::listeners::Listeners;
pub(crate) use self::pending_changes::{PendingChanges, WantedChanges};

/// A change that clients may want to know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    /// The contents of the resource with this URI.
    Updated(Arc<str>),
    /// The status of the task with this id.
    Task(Arc<str>),
}
