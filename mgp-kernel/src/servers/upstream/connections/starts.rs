//! The starts of connections: at once, or as soon as somebody needs the server.

use mgp_types::Principal;

use super::{ConnectPolicy, ConnectionTable, UpstreamConnections};
use crate::servers::upstream::first_start::FirstStart;

impl UpstreamConnections {
    /// Lets connections begin again.
    pub(in super::super) fn open(&self) {
        self.connections.lock().open();
    }

    /// Lets connections begin, the first one at once.
    pub(in super::super) fn start(&self) {
        self.connections.lock().start();
    }

    /// Lets no connection begin until somebody needs the server, or it is [released](Self::release).
    pub(in super::super) fn hold(&self) {
        let mut connections = self.connections.lock();
        if connections.begin == ConnectPolicy::Yes {
            connections.begin = ConnectPolicy::WhenNeeded;
        }
    }

    pub(in super::super) fn is_held(&self) -> bool {
        self.connections.lock().begin == ConnectPolicy::WhenNeeded
    }

    /// Starts the first connection if it was [held](Self::hold).
    pub(in super::super) fn release(&self) {
        self.connections.lock().release();
    }

    /// Returns whether the first connection begins for the first time.
    pub(in super::super) fn is_starting(&self) -> bool {
        let connections = self.connections.lock();
        let first = connections.first.as_ref().filter(|_| connections.begin == ConnectPolicy::Yes);
        first.is_some_and(|first| !first.instance.shared.start.is_over())
    }

    /// Returns the start of the connection that this agent uses; a connection of the agent's own begins, and none of a
    /// client's. A server that was held begins, too.
    pub(in super::super) fn start_for(&self, agent: &Principal) -> Option<FirstStart> {
        {
            let mut connections = self.connections.lock();
            connections.release();
            if let Some(first) = &connections.first {
                return Some(first.instance.shared.start.clone());
            }
        }
        let begun = self.reaches(agent).then(|| self.connection(agent))?;
        let begun = begun.inspect_err(|error| {
            tracing::debug!(server = self.config.id, %error, "an agent has no connection");
        });
        begun.ok().map(|instance| instance.shared.start.clone())
    }
}

impl ConnectionTable {
    fn open(&mut self) {
        if matches!(self.begin, ConnectPolicy::WhenNeeded | ConnectPolicy::NotNow) {
            self.begin = ConnectPolicy::Yes;
        }
        if let Some(first) = &self.first {
            first.instance.shared.start.begin();
        }
    }

    fn start(&mut self) {
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
