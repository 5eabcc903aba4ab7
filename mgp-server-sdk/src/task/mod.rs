//! Tasks: calls that go on after they were answered.
//!
//! Two protocols share one store: the experiment of 2025-11-25, in which a client asks for a task, and the extension of
//! 2026-07-28, in which the server decides.

mod entry;
mod extension;
pub(crate) mod session_era;
mod store;

use mgp_types::{Error, Response, Revision};

use self::entry::Task;
pub use self::entry::TaskRun;
pub(crate) use self::extension::{cancel, declared, get, update};
pub use self::store::{TaskLimits, TaskStore};

/// Returns the answer to the call that became the task.
pub(crate) fn created(task: &Task, revision: Revision) -> Result<Response, Error> {
    if revision.is_stateless() { extension::created(task) } else { session_era::created(task) }
}
