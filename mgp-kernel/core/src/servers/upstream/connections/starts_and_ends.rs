//! The starts of connections, at once or as soon as somebody needs the server; and their ends: of those that nobody uses, and
//! of all when the server stops.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mgp::{ServerState, ShutdownReason};
use mgp_types::{ClientSessionId, Error, Principal, code};
use tokio::task::JoinSet;

use super::{ConnectPolicy, ConnectionTable, OwnConnection, UsedConnection};
use crate::servers::upstream::Upstream;
use crate::servers::upstream::connection_key::{ClientKey, ConnectionKey};
use crate::servers::upstream::first_start::FirstStart;
use crate::servers::upstream::server_connection::ServerConnection;

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

impl Upstream {
    /// Ends the connection that was unused for longest, so that there is room for one of this caller. Returns the first
    /// connection, made anew, if the caller has that from now on.
    ///
    /// # Errors
    /// 3001 if all connections are in use.
    pub(super) fn make_room(
        &self,
        first: &mut Option<OwnConnection>,
        by_key: &mut HashMap<ConnectionKey, OwnConnection, RandomState>,
        caller: &Principal,
    ) -> Result<Option<UsedConnection>, Error> {
        let Some(first) = first else {
            let message =
                "too many agents have connections to this server; try again when some of them are done";
            return Err(Error::new(code::RESOURCE_EXHAUSTED, message));
        };
        let used = by_key.values().chain((!self.is_elsewhere()).then_some(&*first));
        let unused = used.filter(|connection| !self.is_in_use(connection));
        let Some(longest) = unused.min_by_key(|connection| (!connection.is_left, connection.used_at)) else {
            let (most, id) = (self.max_connections(), &self.config.id);
            let message = format!(
                "all {most} instances of the server `{id}` are in use, each by another client; \
                 `max_instances` in the entry of `{id}` under `servers` allows more, and `sharing = \"shared\"` has \
                 all clients use one"
            );
            return Err(Error::new(code::RESOURCE_EXHAUSTED, message));
        };
        let key = longest.instance.shared.key.clone();
        tracing::info!(server = %key, client = ?longest.client, "an instance ends: another client needs its place");
        if let Some(ended) = by_key.remove(&key) {
            self.end_later(ended.instance, ShutdownReason::IdleTimeout);
            return Ok(None);
        }
        self.renew(first);
        first.client = Some(ClientKey::of(caller));
        Ok(Some(first.used()))
    }

    pub(super) fn max_connections(&self) -> usize {
        let usual =
            if self.config.command.is_some() && !self.is_by_agent() { MAX_PROGRAMS } else { MAX_CONNECTIONS };
        self.config.max_instances.and_then(|most| usize::try_from(most).ok()).unwrap_or(usual)
    }

    /// Ends the connections of a client session that is over. A connection on which something goes on ends after that.
    pub(crate) fn client_ended(&self, client: ClientSessionId) {
        let mut connections = self.connections.lock();
        let ConnectionTable { first, by_key, .. } = &mut *connections;
        let all = by_key.values_mut().chain(first);
        for left in all.filter(|own| own.client.as_ref().is_some_and(|own| own.session == Some(client))) {
            left.is_left = true;
        }
        let ended = self.take_unused(&mut connections, |connection| connection.is_left);
        drop(connections);
        for instance in ended {
            self.end_later(instance, ShutdownReason::IdleTimeout);
        }
    }

    /// Stops the server until it is started again: calls in work have `timeout` to end, then its processes are ended.
    pub(crate) async fn stop(&self, reason: ShutdownReason, timeout: Duration) {
        let (connections, first) = {
            let mut connections = self.connections.lock();
            connections.stops += 1;
            if connections.begin != ConnectPolicy::Never {
                connections.begin = ConnectPolicy::NotNow;
            }
            let first = connections.first.as_mut().map(|first| {
                (first.client, first.is_left) = (None, false);
                Arc::clone(&first.instance)
            });
            (std::mem::take(&mut connections.by_key), first)
        };
        let mut stopping = JoinSet::new();
        for connection in connections.into_values() {
            stopping.spawn(async move { connection.instance.end(reason, timeout).await });
        }
        if let Some(first) = first {
            stopping.spawn(async move { first.stop(reason, timeout).await });
        }
        while stopping.join_next().await.is_some() {}
    }

    /// Ends what runs of the server, and connects to it where its lease is by then. A server that does not run stays so.
    #[cfg(feature = "cluster")]
    pub(crate) fn follow_lease(self: &Arc<Self>) {
        if self.connections.lock().begin != ConnectPolicy::Yes {
            return;
        }
        let this = Arc::clone(self);
        self.run(async move {
            let reason = ShutdownReason::ConfigurationChange;
            let stops = this.connections.lock().stops;
            this.stop(reason, TIME_FOR_CALLS).await;
            // Somebody else may have stopped or removed it meanwhile.
            let is_over =
                |found: &ConnectionTable| found.begin == ConnectPolicy::Never || found.stops != stops + 1;
            let is_over = is_over(&this.connections.lock());
            if !is_over && let Err(error) = this.restart(reason).await {
                tracing::debug!(server = %this.id, %error, "a server does not run yet where its lease is");
            }
        });
    }

    /// Connects at once where the next attempt to reach a server over HTTP is to come later: somebody may have signed in at another
    /// kernel.
    pub(crate) fn follow_logins(&self) {
        let waits = |own: &Arc<ServerConnection>| own.supervised.state() == ServerState::Restarting;
        for own in self.all().into_iter().filter(|own| self.config.url.is_some() && waits(own)) {
            // The supervisor tells why there still is no connection.
            self.run(async move { drop(own.supervised.restart(ShutdownReason::ConfigurationChange).await) });
        }
    }

    /// Replaces the first connection, which holds what its client left there, by a new one with the same lists.
    fn renew(&self, first: &mut OwnConnection) {
        let fresh = match self.new_first(Arc::clone(&first.instance.shared.lists)) {
            Ok(fresh) => OwnConnection { is_renewed: true, ..fresh },
            // It could begin before, with the same configuration.
            Err(error) => {
                return tracing::error!(server = self.config.id, %error, "a connection cannot begin");
            }
        };
        let own = Weak::clone(&self.own);
        let (starting, old) = (Arc::clone(&fresh.instance), std::mem::replace(first, fresh).instance);
        starting.shared.state.about.lock().clone_from(&old.shared.state.about.lock());
        starting.shared.state.peers.lock().clone_from(&old.shared.state.peers.lock());
        old.shared.state.is_over.store(true, Ordering::Release);
        self.run(async move {
            // Both may need the same files and ports.
            old.stop(ShutdownReason::IdleTimeout, STOP_TIMEOUT).await;
            drop(old);
            if own.upgrade().is_some_and(|own| own.connections.lock().begin == ConnectPolicy::Yes) {
                starting.supervised.start();
            }
        });
    }

    pub(super) fn end_later(&self, instance: Arc<ServerConnection>, reason: ShutdownReason) {
        self.run(async move { instance.end(reason, STOP_TIMEOUT).await });
    }

    /// Runs a task on the kernel's runtime: a client session may end anywhere.
    pub(super) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, &self.runtime);
    }

    /// Returns whether something goes on, on the connection.
    fn is_in_use(&self, connection: &OwnConnection) -> bool {
        let instance = &connection.instance;
        instance.shared.state.uses.count() > 0
            || instance.supervised.in_flight() > 0
            || self.support.tables.tasks.has_unfinished(&instance.shared.tasks_at)
            || (!connection.is_left && self.is_watched(&instance.shared.key))
    }

    /// Returns whether a client waits for notifications of what happens on a connection.
    fn is_watched(&self, key: &ConnectionKey) -> bool {
        self.support.changes.upgrade().is_some_and(|changes| changes.watches_on(key))
    }

    /// Takes out the connections that nobody has used for some time.
    pub(super) fn idle(&self) -> Vec<Arc<ServerConnection>> {
        self.support.tell(|changes| changes.forget_gone());
        let longest = if self.is_by_agent() { IDLE } else { IDLE_OF_CLIENT };
        self.take_unused(&mut self.connections.lock(), |connection| {
            connection.is_left || connection.used_at.elapsed() >= longest
        })
    }

    /// Takes out the connections that are over and not in use, and renews the first one if its client has left it.
    fn take_unused(
        &self,
        connections: &mut ConnectionTable,
        is_over: impl Fn(&OwnConnection) -> bool,
    ) -> Vec<Arc<ServerConnection>> {
        let ConnectionTable { first, by_key, begin, .. } = connections;
        if let Some(first) = first.as_mut().filter(|first| first.is_left && !self.is_in_use(first)) {
            if *begin == ConnectPolicy::Yes && !self.is_for_many(first) {
                self.renew(first);
            } else {
                (first.client, first.is_left) = (None, false);
            }
        }
        let ended = by_key.extract_if(|_, connection| is_over(connection) && !self.is_in_use(connection));
        ended.map(|(_, connection)| connection.instance).collect()
    }
}

pub(in super::super) async fn sweep(connections: Weak<Upstream>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let Some(idle) = connections.upgrade().map(|connections| connections.idle()) else { return };
        for instance in idle {
            instance.end(ShutdownReason::IdleTimeout, STOP_TIMEOUT).await;
        }
    }
}

const MAX_CONNECTIONS: usize = 256;
/// The number of programs of one server, if the configuration has none.
const MAX_PROGRAMS: usize = 8;
pub(super) const IDLE: Duration = Duration::from_mins(10);
/// The time for which a client may leave a connection unused. What the server knows of the client ends with it.
pub(super) const IDLE_OF_CLIENT: Duration = Duration::from_hours(1);
const SWEEP: Duration = Duration::from_mins(1);
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that calls have to end when the lease of their server ended.
#[cfg(feature = "cluster")]
const TIME_FOR_CALLS: Duration = Duration::from_millis(500);
