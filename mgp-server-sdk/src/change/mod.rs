//! Changes, and who is told about them.

mod listen;
mod listeners;
mod mailbox;

use std::sync::Arc;

pub(crate) use self::listen::listen;
pub(crate) use self::listeners::Listeners;
pub(crate) use self::mailbox::{Mailbox, Wanted};

/// Something that clients may want to know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    /// The resource with this URI.
    Updated(Arc<str>),
    /// The task with this id.
    Task(Arc<str>),
}
