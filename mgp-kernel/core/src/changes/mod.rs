//! The notifications of servers, and the clients of the kernel that get them.
//!
//! Clients get notifications only of what they may see, nobody waits for a client that reads slowly, and a server is
//! subscribed to a resource once, however many clients want to know.

mod from_servers;
mod listen;
mod listener;
mod watch;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use foldhash::fast::RandomState;
use mgp_security::access::AccessPolicy;
use mgp_toolindex::discovery::ToolDiscoveryGate;
use mgp_types::mgp::{AgentId, EntryType, ServerId};
use mgp_types::{Context, Error, Principal, Session, code};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use self::from_servers::LogLevels;
use self::listener::{ChangeListener, ChangeMessage, WantedResource};
use self::watch::ResourceWatches;
use crate::servers::fleet::Fleet;
use crate::servers::upstream::{ConnectionKey, ListKind, ServerNotifications as _};

pub(crate) use self::from_servers::set_level;
pub(crate) use self::listen::{declares_tasks, listen};

/// The listeners of changes, and the subscriptions at servers.
pub(crate) struct ChangeListeners {
    access: AccessPolicy,
    pub(crate) fleet: Arc<Fleet>,
    /// The sessions by address, which stays theirs for as long as the weak reference is kept.
    sessions: Mutex<HashMap<usize, Arc<ChangeListener>, RandomState>>,
    /// The requests that listen.
    requests: Mutex<Vec<Weak<ChangeListener>>>,
    /// The principals without a session whose list of tools is one that the router made.
    listing: Mutex<HashSet<Principal, RandomState>>,
    watches: ResourceWatches,
    /// The connections on which a listener is notified of tasks.
    relayed: Mutex<Vec<Weak<ConnectionKey>>>,
    levels: LogLevels,
    /// The gate that makes lists of tools itself, and notifies of them.
    tools: ArcSwapOption<ToolDiscoveryGate>,
    revision: AtomicU64,
    /// The tasks that deliver notifications.
    errands: Mutex<JoinSet<()>>,
}

impl ChangeListeners {
    /// Makes a set without listeners for the servers of the `fleet`. `access` decides what each listener may see.
    pub(crate) fn new(access: AccessPolicy, fleet: Arc<Fleet>) -> Self {
        Self {
            access,
            fleet,
            sessions: Mutex::default(),
            requests: Mutex::default(),
            listing: Mutex::default(),
            watches: ResourceWatches::default(),
            relayed: Mutex::default(),
            levels: LogLevels::default(),
            tools: ArcSwapOption::empty(),
            revision: AtomicU64::new(0),
            errands: Mutex::default(),
        }
    }

    /// Passes changes of tools to `tools` as well.
    pub(crate) fn set_tool_gate(&self, tools: ToolDiscoveryGate) {
        self.tools.store(Some(Arc::new(tools)));
    }

    /// Drops the gate that [is notified](Self::set_tool_gate) as well, which keeps the servers alive.
    pub(crate) fn abandon(&self) {
        self.tools.store(None);
    }

    /// Notifies the clients whose list of tools is not the router's.
    fn tell_tools(&self) {
        if let Some(tools) = self.tools.load_full() {
            tools.tools_changed();
        }
    }

    /// Returns a number that differs after each change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Registers a session that begins. The session is notified of changes from now on, once it is
    /// [ready](Self::ready).
    pub(crate) fn open(&self, context: &Context) {
        let (Some(session), Some(principal)) = (&context.session, &context.principal) else { return };
        if !session.is_reachable() {
            return;
        }
        self.forget_gone();
        let mut sessions = self.sessions.lock();
        sessions
            .entry(address(session))
            .or_insert_with(|| Arc::new(ChangeListener::session(session, principal.clone())));
    }

    /// Notes that a listener is notified of tasks on the connection, for as long as the returned reference is held.
    fn relayed(&self, connection: ConnectionKey) -> Arc<ConnectionKey> {
        let connection = Arc::new(connection);
        let mut relayed = self.relayed.lock();
        relayed.retain(|other| other.strong_count() > 0);
        relayed.push(Arc::downgrade(&connection));
        connection
    }

    /// Notes that the session takes messages from now on.
    pub(crate) fn ready(&self, context: &Context) {
        let Some(listener) = self.listener(context) else { return };
        if listener.mailbox.release() {
            self.push(&listener);
        }
    }

    /// Notes that the caller has a list of tools that the router made, so the caller is notified here when the list
    /// changes.
    pub(crate) fn lists_tools(&self, context: &Context) {
        if let Some(listener) = self.listener(context) {
            listener.lists_tools.store(true, Ordering::Relaxed);
        } else if let Some(principal) = &context.principal {
            let mut listing = self.listing.lock();
            if listing.len() < MAX_LISTING {
                listing.insert(principal.clone());
            }
        }
    }

    fn listener(&self, context: &Context) -> Option<Arc<ChangeListener>> {
        self.session(context.session.as_ref()?)
    }

    fn session(&self, session: &Arc<Session>) -> Option<Arc<ChangeListener>> {
        self.sessions.lock().get(&address(session)).cloned()
    }

    /// Returns whether there is any listener.
    pub(crate) fn has_listeners(&self) -> bool {
        !self.listeners().is_empty()
    }

    /// Returns all listeners.
    fn listeners(&self) -> Vec<Arc<ChangeListener>> {
        let mut all: Vec<_> =
            self.sessions.lock().values().filter(|listener| listener.is_there()).cloned().collect();
        all.extend(self.requests.lock().iter().filter_map(Weak::upgrade));
        all
    }

    /// Returns whether the list of tools that the listener knows is the router's.
    fn has_router_tools(&self, listener: &ChangeListener) -> bool {
        if listener.session.is_some() {
            return listener.lists_tools.load(Ordering::Relaxed);
        }
        let listing = self.listing.lock();
        listing.len() >= MAX_LISTING || listing.contains(&listener.principal)
    }

    /// Returns whether the listener is notified of changes of a list: it wants to be, and no other maker of its list does it.
    fn is_wanted(&self, listener: &ChangeListener, list: ListKind) -> bool {
        let is_asked_for = listener.wanted.lock().lists.contains(&list);
        is_asked_for && (list != ListKind::Tools || self.has_router_tools(listener))
    }

    /// Notifies the clients of `agent`, which may be a group, or all, of a change in what they may use: of servers as a
    /// whole, or of tools.
    pub(crate) fn may_use_others(&self, agent: Option<&AgentId>, changed: EntryType) {
        self.tell_tools();
        let lists = match changed {
            EntryType::ServerGrant => &ListKind::ALL[..],
            EntryType::ToolGrant => &[ListKind::Tools],
        };
        let groups = self.access.groups();
        let is_it = |id: &str| {
            let is_name = |agent: &AgentId, name: &str| (agent.as_str() == name).then_some(());
            agent.is_none_or(|agent| groups.find(id, |name| is_name(agent, name)).is_some())
        };
        for listener in self.listeners().into_iter().filter(|one| is_it(&one.principal.access_id())) {
            for list in lists.iter().filter(|list| self.is_wanted(&listener, **list)) {
                self.offer(&listener, ChangeMessage::List(*list));
            }
        }
    }

    fn offer(&self, listener: &Arc<ChangeListener>, news: ChangeMessage) {
        if listener.mailbox.offer(news) && listener.session.is_some() {
            self.push(listener);
        }
    }

    /// Starts to send a session the messages that wait for it.
    fn push(&self, listener: &Arc<ChangeListener>) {
        self.run(Some(listener), push(Arc::clone(listener)));
    }

    /// Runs a task that ends with the kernel: for a listener on the runtime of its connection, or one for which nobody
    /// waits, unless there are too many.
    fn run(&self, of: Option<&Arc<ChangeListener>>, errand: impl Future<Output = ()> + Send + 'static) {
        let runtime = of.and_then(|listener| listener.runtime.clone()).or_else(|| Handle::try_current().ok());
        let Some(runtime) = runtime else { return };
        let mut errands = self.errands.lock();
        while errands.try_join_next().is_some() {}
        if of.is_some() || errands.len() < MAX_ERRANDS {
            errands.spawn_on(errand, &runtime);
        }
    }
}

/// Notifies agents of entries about them that have ended by themselves, for as long as it is polled.
pub(crate) async fn tell_endings(changes: Arc<ChangeListeners>, access: AccessPolicy) {
    let mut endings = access.endings();
    loop {
        for ended in endings.next().await {
            let entry = &ended.entry;
            let kind = entry.tool_name.as_ref().map_or(EntryType::ServerGrant, |_| EntryType::ToolGrant);
            changes.may_use_others(Some(&entry.agent_id), kind);
        }
    }
}

/// Subscribes the session of the request to changes of a resource.
///
/// # Errors
/// Fails if the server does not notify of the resource, or the session has as many subscriptions as it may.
pub(crate) async fn subscribe(
    changes: &Arc<ChangeListeners>,
    context: &Context,
    server: &ServerId,
    own: &str,
    shown: &str,
) -> Result<(), Error> {
    let session = context.session()?;
    changes.open(context);
    let connection = connection_of(&changes.fleet, server, context)?;
    let watch = changes.watches.watch(changes, &connection, own, context).await?;
    let principal = context.principal.clone().ok_or_else(|| Error::internal("nobody asks"))?;
    let (key, wish) =
        ((connection, own.into()), WantedResource { shown: shown.into(), principal, _watch: watch });
    let listener = changes.session(session).ok_or_else(|| Error::invalid_request("there is no session"))?;
    let mut wanted = listener.wanted.lock();
    if wanted.uris.len() >= MAX_SUBSCRIPTIONS && !wanted.uris.contains_key(&key) {
        let most = format!("a session subscribes to {MAX_SUBSCRIPTIONS} resources at most");
        return Err(Error::new(code::RESOURCE_EXHAUSTED, most));
    }
    // The old watch is held on, so nothing ends under the lock.
    wanted.uris.insert(key, wish);
    Ok(())
}

/// Returns the connection on which the sender of a request is notified of what `server` has.
fn connection_of(fleet: &Fleet, server: &ServerId, context: &Context) -> Result<ConnectionKey, Error> {
    let principal = context.principal.as_ref().ok_or_else(|| Error::internal("nobody asks"))?;
    Ok(fleet.upstream(server)?.connection_key(principal))
}

/// Ends [`subscribe`].
pub(crate) fn unsubscribe(changes: &ChangeListeners, context: &Context, shown: &str) {
    let Some(listener) = changes.listener(context) else { return };
    let ended = listener.wanted.lock().uris.extract_if(|_, wish| &*wish.shown == shown).next();
    // The server is unsubscribed from without the lock.
    drop(ended);
}

/// Sends a session the messages that wait for it, and ends when none do.
async fn push(listener: Arc<ChangeListener>) {
    while let Some(message) = listener.mailbox.take() {
        let session = listener.session.as_ref().and_then(Weak::upgrade);
        // The session is held for no longer than it takes to send: it ends when its connection does.
        let Some(outbox) = session.map(|session| session.outbox.clone()) else { return };
        if let Err(error) = outbox.notify(message).await {
            tracing::debug!(%error, "a change was not told");
        }
    }
}

fn address(session: &Arc<Session>) -> usize {
    Arc::as_ptr(session).addr()
}

/// The largest number of resources that one client may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1024;
/// The largest number of principals without a session whose lists are noted. Beyond it, all of them are notified.
const MAX_LISTING: usize = 4096;
const MAX_REQUESTS: usize = 4096;
const MAX_ERRANDS: usize = 4096;

#[cfg(test)]
mod tests;
