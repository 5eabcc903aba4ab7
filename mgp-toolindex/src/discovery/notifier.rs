//! Notifications of changed lists of tools, and the requests that listen for them.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mcp::{SubscriptionsAcknowledgedParams, SubscriptionsListenParams};
use mgp_types::{
    BoxFuture, Context, Error, Method, Object, Outbox, OutboxPort, Principal, Request, Response, Session,
    StreamId,
};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::shared::DiscoveryShared;
use crate::session::{SessionKey, SessionTools, ToolView};

/// Tells peers that their list of tools has changed.
///
/// A change waits a moment for others, so that a burst is told once, and is told only if the list then really differs,
/// in a way that is worth the cost of a new list to the peer.
#[derive(Debug, Default)]
pub(super) struct ListChangeNotifier {
    peers: Mutex<HashMap<SessionKey, NotifiedPeer, RandomState>>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct NotifiedPeer {
    session: Weak<Session>,
    principal: Option<Principal>,
    listening: Vec<ListenStream>,
    /// Set while a notification is about to be sent.
    is_waiting: bool,
    awaited: AwaitedChanges,
    /// Set once the peer was told and has not asked for its list since: the peer knows that its list is old.
    is_notified: bool,
}

/// The changes of which a peer is told since it asked for its list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum AwaitedChanges {
    /// Changes that make its list outdated.
    #[default]
    Outdating,
    /// All changes of its list, because tools were loaded for it.
    Loaded,
    /// All changes, because the peer got its list before there were tools.
    Tools,
}

/// A request that listens.
#[derive(Debug, Clone)]
pub(super) struct ListenStream {
    pub(super) outbox: Outbox,
    pub(super) session: Arc<Session>,
    /// A pointer that is dead once the request is over.
    pub(super) request: Weak<()>,
}

const MAX_LISTENING: usize = 16;
const MAX_PEERS: usize = 4096;

impl ListChangeNotifier {
    /// Notes that the peer was given its list, and can be told of changes.
    pub(super) fn listed(&self, key: &SessionKey, context: &Context) {
        let Some(session) = &context.session else { return };
        if let Some(peer) = self.peers.lock().get_mut(key) {
            (peer.is_notified, peer.awaited) = (false, AwaitedChanges::Outdating);
        }
        // A peer that describes itself with each request is told on requests that listen, and nowhere else.
        if !session.is_reachable() {
            return;
        }
        self.with_peer(key, |peer| {
            peer.session = Arc::downgrade(session);
            peer.principal.clone_from(&context.principal);
        });
    }

    /// Notes that the peer was given a list without tools, because there were none yet.
    pub(super) fn listed_too_early(&self, key: &SessionKey, context: &Context) {
        // A peer that describes itself with each request may listen later.
        if context.session.is_some() {
            self.with_peer(key, |peer| peer.awaited = AwaitedChanges::Tools);
        }
    }

    /// Notes that the peer was given a list by an inner service, which tells of its changes from now on.
    pub(super) fn listed_elsewhere(&self, key: &SessionKey) {
        if let Some(peer) =
            self.peers.lock().get_mut(key).filter(|peer| peer.awaited == AwaitedChanges::Tools)
        {
            peer.awaited = AwaitedChanges::Outdating;
        }
    }

    /// Notes that a request listens for changes.
    pub(super) fn listens(&self, key: &SessionKey, principal: Option<&Principal>, listener: ListenStream) {
        self.with_peer(key, |peer| {
            peer.principal = principal.cloned();
            // The new listener was not told yet, even if others were.
            peer.is_notified = false;
            peer.listening.retain(ListenStream::is_there);
            if peer.listening.len() < MAX_LISTENING {
                peer.listening.push(listener);
            }
        });
    }

    /// Notes that a request does not listen any more.
    pub(super) fn left(&self, key: &SessionKey) {
        let mut peers = self.peers.lock();
        if let Some(peer) = peers.get_mut(key) {
            peer.listening.retain(ListenStream::is_there);
            if !peer.is_there() {
                peers.remove(key);
            }
        }
    }

    /// Notes that the list of a session may have changed.
    pub(super) fn changed(&self, shared: &Arc<DiscoveryShared>, key: &SessionKey) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut peers = self.peers.lock();
        let Some(peer) = peers.get_mut(key) else { return };
        if peer.is_waiting || peer.is_notified || !peer.is_there() {
            return;
        }
        peer.is_waiting = true;
        drop(peers);
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(tell(Arc::downgrade(shared), key.clone()), &runtime);
    }

    /// Notes that tools which a session asked for are in its list now. The session is told of these in any case.
    pub(super) fn loaded(&self, shared: &Arc<DiscoveryShared>, key: &SessionKey) {
        if let Some(peer) =
            self.peers.lock().get_mut(key).filter(|peer| peer.awaited != AwaitedChanges::Tools)
        {
            peer.awaited = AwaitedChanges::Loaded;
        }
        self.changed(shared, key);
    }

    /// Notes that the lists of all sessions may have changed.
    pub(super) fn all_changed(&self, shared: &Arc<DiscoveryShared>) {
        let keys: Vec<_> = self.peers.lock().keys().cloned().collect();
        for key in keys {
            self.changed(shared, &key);
        }
    }

    fn with_peer(&self, key: &SessionKey, act: impl FnOnce(&mut NotifiedPeer)) {
        let mut peers = self.peers.lock();
        if !peers.contains_key(key) && peers.len() >= MAX_PEERS {
            peers.retain(|_, peer| peer.is_there());
            if peers.len() >= MAX_PEERS {
                tracing::warn!("a session is not told of changed tools: there are too many sessions");
                return;
            }
        }
        act(peers.entry(key.clone()).or_default());
    }

    fn set_notified(&self, key: &SessionKey, is_notified: bool) {
        if let Some(peer) = self.peers.lock().get_mut(key) {
            peer.is_notified = is_notified;
        }
    }

    /// Returns the ways to a peer, the context to see its tools in, and the changes that it awaits.
    fn ways(&self, key: &SessionKey) -> Option<(Vec<Outbox>, Context, AwaitedChanges)> {
        let mut peers = self.peers.lock();
        let peer = peers.get_mut(key)?;
        peer.is_waiting = false;
        let session = peer.session.upgrade();
        peer.listening.retain(ListenStream::is_there);
        let mut outboxes: Vec<_> = peer.listening.iter().map(|listener| listener.outbox.clone()).collect();
        outboxes.extend(session.iter().map(|session| session.outbox.clone()));
        let mut context = Context::default();
        context.session = session.or_else(|| Some(Arc::clone(&peer.listening.first()?.session)));
        context.principal.clone_from(&peer.principal);
        let awaited = peer.awaited;
        if !peer.is_there() {
            peers.remove(key);
        }
        Some((outboxes, context, awaited))
    }
}

impl NotifiedPeer {
    fn is_there(&self) -> bool {
        self.session.strong_count() > 0 || self.listening.iter().any(ListenStream::is_there)
    }
}

impl ListenStream {
    fn is_there(&self) -> bool {
        self.request.strong_count() > 0
    }
}

/// The time that telling one peer may take, so that a peer which does not read holds up no other.
const LONGEST_TELLING: Duration = Duration::from_secs(5);

/// The time that a change waits for others.
const PAUSE: Duration = Duration::from_millis(50);

async fn tell(shared: Weak<DiscoveryShared>, key: SessionKey) {
    sleep(PAUSE).await;
    let Some(ways) = shared.upgrade().and_then(|shared| shared.ways_to_tell(&key)) else { return };
    for outbox in ways {
        let notification = Request::notify(Method::TOOLS_CHANGED, Object::new());
        if !matches!(timeout(LONGEST_TELLING, outbox.notify(notification)).await, Ok(Ok(()))) {
            tracing::debug!("a peer was not told that its tools changed");
            shared.upgrade().inspect(|shared| shared.notifier.set_notified(&key, false));
        }
    }
}

impl DiscoveryShared {
    /// Returns the ways to tell the peer that its list changed; `None` if the list did not.
    fn ways_to_tell(&self, key: &SessionKey) -> Option<Vec<Outbox>> {
        let (outboxes, context, awaited) = self.notifier.ways(key)?;
        let is_changed = |session: &mut SessionTools, view: &ToolView<'_>, _: &_| match awaited {
            AwaitedChanges::Tools => true,
            AwaitedChanges::Loaded => session.changed(),
            AwaitedChanges::Outdating => session.is_outdated(view),
        };
        let snapshot = self.index.snapshot();
        let changed = awaited == AwaitedChanges::Tools
            || self.sessions.has(key) && self.with_session(&snapshot, (key, &context), is_changed);
        changed.then(|| {
            // The note comes first: a list that is asked for in between is a new one.
            self.notifier.set_notified(key, true);
            outboxes
        })
    }
}

/// A request that listens for changes of the tools. Its acknowledgement has to be the first message on its stream, so
/// that changes are told only after it.
#[derive(Debug)]
pub(super) struct ListenRequest {
    shared: Arc<DiscoveryShared>,
    key: SessionKey,
    request: Option<Arc<()>>,
}

impl ListenRequest {
    /// Puts itself between a request that listens for changes and its peer; `None` for other requests.
    pub(super) fn of(shared: &Arc<DiscoveryShared>, request: &mut Request) -> Option<Self> {
        let wanted: SubscriptionsListenParams = request.body().ok()?;
        let session = request.context.session.clone()?;
        if wanted.notifications.tools_list_changed != Some(true) {
            return None;
        }
        let key = shared.key(&request.context);
        let outbox = request.context.outbox.clone();
        let (port, stream) = outbox.clone().into_parts()?;
        let token = Arc::new(());
        let between = Acknowledging {
            port,
            shared: Arc::clone(shared),
            key: key.clone(),
            principal: request.context.principal.clone(),
            listener: ListenStream { outbox, session, request: Arc::downgrade(&token) },
        };
        request.context.outbox = Outbox::new(Arc::new(between), stream);
        Some(Self { shared: Arc::clone(shared), key, request: Some(token) })
    }
}

impl Drop for ListenRequest {
    fn drop(&mut self) {
        self.request = None;
        self.shared.notifier.left(&self.key);
    }
}

struct Acknowledging {
    port: Arc<dyn OutboxPort>,
    shared: Arc<DiscoveryShared>,
    key: SessionKey,
    principal: Option<Principal>,
    listener: ListenStream,
}

impl OutboxPort for Acknowledging {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method != Method::ACKNOWLEDGED {
            return self.port.notify(stream, notification);
        }
        let acknowledged: Option<SubscriptionsAcknowledgedParams> = notification.body().ok();
        let will_tell = acknowledged
            .is_some_and(|acknowledgement| acknowledgement.notifications.tools_list_changed == Some(true));
        Box::pin(async move {
            self.port.notify(stream, notification).await?;
            if will_tell {
                self.shared.notifier.listens(&self.key, self.principal.as_ref(), self.listener.clone());
            }
            Ok(())
        })
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.port.call(stream, request)
    }
}
