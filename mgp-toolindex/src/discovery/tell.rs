use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::{Context, Method, Object, Outbox, Principal, Request, Session};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::shared::Shared;
use crate::session::SessionKey;

/// Tells peers that their list of tools is another one than they know.
///
/// A change waits a moment for others, so that a burst of them is told once, and is told only if the list then is
/// different in fact, in a way that is worth what a new list costs the peer.
#[derive(Debug, Default)]
pub(super) struct Tellings {
    peers: Mutex<HashMap<SessionKey, Peer, RandomState>>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct Peer {
    session: Weak<Session>,
    principal: Option<Principal>,
    listening: Vec<Listener>,
    /// Whether it is about to be told.
    is_waiting: bool,
    awaited: Awaited,
    /// Whether it was told, and has not asked for its list since. It knows that its list is old then.
    was_told: bool,
}

/// Of which changes a peer is told since it asked for its list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Awaited {
    /// Those that make its list outdated.
    #[default]
    Outdating,
    /// All of its list: tools were loaded for it.
    Loaded,
    /// All that there are: it was given its list before there were tools.
    Tools,
}

/// A request that listens.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) outbox: Outbox,
    pub(super) session: Arc<Session>,
    /// Is gone when the request is.
    pub(super) request: Weak<()>,
}

impl Tellings {
    /// The peer was given its list, and can be told when there is another one.
    pub(super) fn listed(&self, key: &SessionKey, context: &Context) {
        let Some(session) = &context.session else { return };
        if let Some(peer) = self.peers.lock().get_mut(key) {
            (peer.was_told, peer.awaited) = (false, Awaited::Outdating);
        }
        // A peer that describes itself with each request is told on requests that listen, and nowhere else.
        if session.revision.is_stateless() || !session.outbox.is_open() {
            return;
        }
        self.with_peer(key, |peer| {
            peer.session = Arc::downgrade(session);
            peer.principal.clone_from(&context.principal);
        });
    }

    /// The peer was given a list without tools, as there were none yet.
    pub(super) fn listed_too_early(&self, key: &SessionKey, context: &Context) {
        // One that describes itself with each request may listen later.
        if context.session.is_some() {
            self.with_peer(key, |peer| peer.awaited = Awaited::Tools);
        }
    }

    /// The peer was given a list by whoever has all tools, who tells of its changes from now on.
    pub(super) fn listed_elsewhere(&self, key: &SessionKey) {
        if let Some(peer) = self.peers.lock().get_mut(key).filter(|peer| peer.awaited == Awaited::Tools) {
            peer.awaited = Awaited::Outdating;
        }
    }

    /// A request listens for changes.
    pub(super) fn listens(&self, key: &SessionKey, principal: Option<&Principal>, listener: Listener) {
        self.with_peer(key, |peer| {
            peer.principal = principal.cloned();
            // Others may have been told; this one was not.
            peer.was_told = false;
            peer.listening.retain(Listener::is_there);
            if peer.listening.len() < MOST_LISTENING {
                peer.listening.push(listener);
            }
        });
    }

    /// A request does not listen any more.
    pub(super) fn left(&self, key: &SessionKey) {
        let mut peers = self.peers.lock();
        if let Some(peer) = peers.get_mut(key) {
            peer.listening.retain(Listener::is_there);
            if !peer.is_there() {
                peers.remove(key);
            }
        }
    }

    /// The list of a session may have changed.
    pub(super) fn changed(&self, shared: &Arc<Shared>, key: &SessionKey) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut peers = self.peers.lock();
        let Some(peer) = peers.get_mut(key).filter(|peer| peer.is_to_be_told()) else { return };
        peer.is_waiting = true;
        drop(peers);
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(tell(Arc::downgrade(shared), key.clone()), &runtime);
    }

    /// Tools that a session asked for are in its list now. It asked for them, so it is told of these in any case.
    pub(super) fn loaded(&self, shared: &Arc<Shared>, key: &SessionKey) {
        if let Some(peer) = self.peers.lock().get_mut(key).filter(|peer| peer.awaited != Awaited::Tools) {
            peer.awaited = Awaited::Loaded;
        }
        self.changed(shared, key);
    }

    /// The lists of all sessions may have changed.
    pub(super) fn all_changed(&self, shared: &Arc<Shared>) {
        let keys: Vec<_> = self.peers.lock().keys().cloned().collect();
        for key in keys {
            self.changed(shared, &key);
        }
    }

    fn with_peer(&self, key: &SessionKey, act: impl FnOnce(&mut Peer)) {
        let mut peers = self.peers.lock();
        if !peers.contains_key(key) && peers.len() >= MOST_PEERS {
            peers.retain(|_, peer| peer.is_there());
            if peers.len() >= MOST_PEERS {
                tracing::warn!("a session is not told of changed tools: there are too many");
                return;
            }
        }
        act(peers.entry(key.clone()).or_default());
    }

    fn told(&self, key: &SessionKey, was_told: bool) {
        if let Some(peer) = self.peers.lock().get_mut(key) {
            peer.was_told = was_told;
        }
    }

    /// Where a peer is told, and what is known of it.
    fn ways(&self, key: &SessionKey) -> Option<Ways> {
        let mut peers = self.peers.lock();
        let peer = peers.get_mut(key)?;
        peer.is_waiting = false;
        let session = peer.session.upgrade();
        peer.listening.retain(Listener::is_there);
        let mut outboxes: Vec<_> = peer.listening.iter().map(|listener| listener.outbox.clone()).collect();
        outboxes.extend(session.iter().map(|session| session.outbox.clone()));
        let mut context = Context::default();
        context.session = session.or_else(|| Some(Arc::clone(&peer.listening.first()?.session)));
        context.principal.clone_from(&peer.principal);
        let awaited = peer.awaited;
        if !peer.is_there() {
            peers.remove(key);
        }
        Some(Ways { outboxes, context, awaited })
    }
}

/// Where a peer is told, and what is known of it.
struct Ways {
    outboxes: Vec<Outbox>,
    context: Context,
    awaited: Awaited,
}

impl Peer {
    fn is_there(&self) -> bool {
        self.session.strong_count() > 0 || self.listening.iter().any(Listener::is_there)
    }

    fn is_to_be_told(&self) -> bool {
        !self.is_waiting && !self.was_told && self.is_there()
    }
}

impl Listener {
    fn is_there(&self) -> bool {
        self.request.strong_count() > 0
    }
}

async fn tell(shared: Weak<Shared>, key: SessionKey) {
    sleep(PAUSE).await;
    let Some(ways) = shared.upgrade().and_then(|shared| shared.ways_to_tell(&key)) else { return };
    for outbox in ways {
        let notification = Request::notify(Method::TOOLS_CHANGED, Object::new());
        if !matches!(timeout(LONGEST_TELLING, outbox.notify(notification)).await, Ok(Ok(()))) {
            tracing::debug!("a peer was not told that its tools changed");
            shared.upgrade().inspect(|shared| shared.tellings.told(&key, false));
        }
    }
}

impl Shared {
    /// Where the peer is to be told that its list changed; `None` if it did not.
    fn ways_to_tell(&self, key: &SessionKey) -> Option<Vec<Outbox>> {
        let Ways { outboxes, context, awaited } = self.tellings.ways(key)?;
        let any = self.settings.tell_uses || awaited == Awaited::Loaded;
        let changed = awaited == Awaited::Tools
            || self.with_view(&context, |view| {
                if any { self.sessions.changed(key, view) } else { self.sessions.is_outdated(key, view) }
            });
        changed.then(|| {
            // Noted first: a list that is asked for in between is a new one.
            self.tellings.told(key, true);
            outboxes
        })
    }
}

/// So long a change waits for others.
const PAUSE: Duration = Duration::from_millis(50);
/// A peer that does not read holds up nobody but itself.
const LONGEST_TELLING: Duration = Duration::from_secs(5);
const MOST_PEERS: usize = 4096;
const MOST_LISTENING: usize = 16;
