//! The owners of tasks, kept over the connections on which the tasks were begun.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::access::TaskOwnersGate;
use mgp_types::mgp::ServerId;
use parking_lot::Mutex;

use crate::servers::upstream::ConnectionKey;

/// The owners of the tasks that may outlive the connections on which they were begun: those of servers that go on without the
/// kernel. A program that the kernel starts takes its tasks with it.
#[derive(Default)]
pub(crate) struct TaskOwners(Mutex<HashMap<ConnectionKey, ConnectionTasks, RandomState>>);

struct ConnectionTasks {
    /// The address of the server: another server has other tasks of the same ids.
    place: Box<str>,
    tasks: TaskOwnersGate,
}

impl TaskOwners {
    /// Returns the owners of the tasks that were begun on `line`, however often it was reconnected.
    pub(crate) fn of(&self, line: &ConnectionKey, server: &ServerConfig) -> TaskOwnersGate {
        let (known, place) = (self.0.lock(), place(server));
        let kept = known.get(&line.of_tasks()).filter(|known| Some(&*known.place) == place);
        kept.map(|known| known.tasks.clone()).unwrap_or_default()
    }

    /// Keeps the owners of the tasks of a connection that is used from now on. Returns false for a program that the
    /// kernel starts.
    pub(crate) fn keep(&self, line: &ConnectionKey, server: &ServerConfig, tasks: &TaskOwnersGate) -> bool {
        let Some(place) = place(server) else { return false };
        let mut known = self.0.lock();
        if known.len() >= MAX_LINES {
            known.retain(|_, of_line| !of_line.tasks.is_empty());
        }
        known.insert(line.of_tasks(), ConnectionTasks { place: place.into(), tasks: tasks.clone() });
        true
    }

    /// Forgets the owners of the tasks of a server that is gone.
    pub(super) fn end_of_server(&self, server: &ServerId) {
        self.0.lock().retain(|line, _| line.server != *server);
    }
}

/// Returns the address of a server that nobody starts, and that goes on without the kernel.
fn place(server: &ServerConfig) -> Option<&str> {
    server.url.as_deref().or(server.socket.as_deref())
}

/// The number of connections from which on those without tasks are not kept.
const MAX_LINES: usize = 4096;
