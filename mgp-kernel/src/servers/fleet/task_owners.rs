//! The owners of tasks, kept over the connections on which the tasks were begun.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::access::TaskOwnersGate;
use mgp_types::mgp::ServerId;
use parking_lot::Mutex;

use crate::servers::upstream::ConnectionKey;

/// The owners of the tasks that may outlive the connections on which they were begun.
#[derive(Default)]
pub(super) struct TaskOwners(Mutex<HashMap<ConnectionKey, ConnectionTasks, RandomState>>);

struct ConnectionTasks {
    /// The address of the server: another server has other tasks of the same ids.
    place: Box<str>,
    tasks: TaskOwnersGate,
}

impl TaskOwners {
    /// Returns the owners of the tasks that were begun on `line`, however often it was reconnected, with the server at
    /// `place`.
    pub(super) fn of(&self, line: &ConnectionKey, place: &str) -> TaskOwnersGate {
        let known = self.0.lock();
        let kept = known.get(line).filter(|known| *known.place == *place);
        kept.map(|known| known.tasks.clone()).unwrap_or_default()
    }

    /// Keeps the owners of the tasks of a connection that is used from now on.
    pub(super) fn keep(&self, line: &ConnectionKey, place: &str, tasks: &TaskOwnersGate) {
        let mut known = self.0.lock();
        if known.len() >= MAX_LINES {
            known.retain(|_, of_line| !of_line.tasks.is_empty());
        }
        known.insert(line.clone(), ConnectionTasks { place: place.into(), tasks: tasks.clone() });
    }

    /// Forgets the owners of the tasks of a server that is gone.
    pub(super) fn end_of_server(&self, server: &ServerId) {
        self.0.lock().retain(|line, _| line.server != *server);
    }
}

/// Returns the address of a server that nobody starts, and that goes on without the kernel.
pub(super) fn place(server: &ServerConfig) -> Option<&str> {
    server.url.as_deref().or(server.socket.as_deref())
}

/// The number of connections from which on those without tasks are not kept.
const MAX_LINES: usize = 4096;
