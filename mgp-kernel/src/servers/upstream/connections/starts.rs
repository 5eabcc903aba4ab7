//! The starts of connections: at once, or as soon as somebody needs the server.

use mgp_types::Principal;

use super::{ConnectPolicy, ConnectionTable};
use crate::servers::upstream::Upstream;
use crate::servers::upstream::first_start::FirstStart;

impl Upstream {
    /// Connects to the server, and keeps it connected. Connections of agents' or clients' own wait for them, and a server
    /// that was [closed](Self::close) does not start.
    pub(crate) fn start(&self) {
        self.connections.lock().start();
    }

    /// Has the server wait until somebody needs it, or it is [released](Self::release), in place of its start.
    pub(crate) fn hold(&self) {
        let mut connections = self.connections.lock();
        if connections.begin == ConnectPolicy::Yes {
            connections.begin = ConnectPolicy::WhenNeeded;
        }
    }

    /// Returns whether the server waits until somebody needs it.
    pub(crate) fn is_held(&self) -> bool {
        self.connections.lock().begin == ConnectPolicy::WhenNeeded
    }

    /// Starts the server if it was [held](Self::hold).
    pub(crate) fn release(&self) {
        self.connections.lock().release();
    }

    /// Returns whether the server is being connected to for the first time, for all agents together.
    pub(crate) fn is_starting(&self) -> bool {
        let connections = self.connections.lock();
        let first = connections.first.as_ref().filter(|_| connections.begin == ConnectPolicy::Yes);
        first.is_some_and(|first| !first.instance.shared.start.is_over())
    }

    /// Returns the start of the connection that this agent uses, if it is not over; a connection of the agent's own begins,
    /// and none of a client's. A server that was held begins, too.
    pub(crate) fn begun(&self, agent: &Principal) -> Option<FirstStart> {
        let first = {
            let mut connections = self.connections.lock();
            connections.release();
            connections.first.as_ref().map(|first| first.instance.shared.start.clone())
        };
        let start = first.or_else(|| {
            let begun = self.reaches(agent).then(|| self.connection(agent))?;
            let begun = begun.inspect_err(|error| {
                tracing::debug!(server = self.config.id, %error, "an agent has no connection");
            });
            begun.ok().map(|used| used.connection.shared.start.clone())
        });
        start.filter(|start| !start.is_over())
    }
}

impl ConnectionTable {
    /// Lets connections begin again.
    pub(in super::super) fn open(&mut self) {
        if matches!(self.begin, ConnectPolicy::WhenNeeded | ConnectPolicy::NotNow) {
            self.begin = ConnectPolicy::Yes;
        }
        if let Some(first) = &self.first {
            first.instance.shared.start.begin();
        }
    }

    fn start(&mut self) {
        if self.begin == ConnectPolicy::Never {
            return;
        }
        self.open();
        if let Some(first) = &self.first {
            first.instance.supervised.start();
        }
    }

    pub(super) fn release(&mut self) {
        if self.begin == ConnectPolicy::WhenNeeded {
            self.start();
        }
    }
}
