//! The listeners of changes, and what each of them wants to know.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_types::{Method, Object, Principal, RawJson, Request, Session};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::watch::{ResourceKey, ResourceWatch};
use crate::servers::upstream::{ConnectionKey, ListKind};

/// A listener that is notified of changes: a session, or a request that listens.
pub(super) struct ChangeListener {
    pub(super) principal: Principal,
    pub(super) mailbox: PendingChanges,
    /// The session, if the listener is one; a request that listens takes its messages itself.
    pub(super) session: Option<Weak<Session>>,
    /// The runtime of the session's connection: changes may be reported on any thread.
    pub(super) runtime: Option<Handle>,
    /// True if the listener's list of tools is one that the router made. The makers of other lists notify of them
    /// themselves.
    pub(super) lists_tools: AtomicBool,
    pub(super) wanted: Mutex<ListenFilter>,
    /// The lists that changed, of which it is notified together after a pause.
    pub(super) changed_lists: Mutex<BTreeSet<ListKind>>,
}

/// The changes that a listener wants to know of.
#[derive(Default)]
pub(super) struct ListenFilter {
    pub(super) lists: BTreeSet<ListKind>,
    pub(super) uris: HashMap<ResourceKey, WantedResource, RandomState>,
}

/// A resource whose changes somebody wants to know.
pub(super) struct WantedResource {
    /// The URI by which the listener knows it.
    pub(super) shown: Arc<str>,
    /// The principal who asked for it last: a session may be that of several, for whom its client speaks.
    pub(super) principal: Principal,
    /// The watch that keeps the server's subscription for as long as anybody holds it.
    pub(super) _watch: Arc<ResourceWatch>,
}

impl ChangeListener {
    pub(super) fn session(session: &Arc<Session>, principal: Principal) -> Self {
        let wanted = ListenFilter { lists: ListKind::ALL.into(), ..ListenFilter::default() };
        Self {
            session: Some(Arc::downgrade(session)),
            runtime: Handle::try_current().ok(),
            ..Self::request(principal, wanted)
        }
    }

    pub(super) fn request(principal: Principal, wanted: ListenFilter) -> Self {
        Self {
            principal,
            mailbox: PendingChanges::default(),
            session: None,
            runtime: None,
            lists_tools: AtomicBool::new(false),
            wanted: Mutex::new(wanted),
            changed_lists: Mutex::default(),
        }
    }

    pub(super) fn is_there(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.strong_count() > 0)
    }

    /// Notes that a list changed. Returns whether the caller has to start the notification after a pause.
    pub(super) fn note_changed(&self, what: ListKind) -> bool {
        let mut lists = self.changed_lists.lock();
        let is_first = lists.is_empty();
        lists.insert(what);
        is_first
    }

    /// Returns the message about a change of the resource `uri` on this connection, which may be a part of a resource
    /// that the listener wants to know of. `may_read` says which of those who asked may still read it.
    pub(super) fn updated(
        &self,
        connection: &ConnectionKey,
        uri: &str,
        may_read: impl Fn(&Principal) -> bool,
    ) -> Option<ChangeMessage> {
        let wanted = self.wanted.lock();
        let whole = wanted.uris.get(&(connection.clone(), uri.into()));
        if let Some(wish) = whole.filter(|wish| may_read(&wish.principal)) {
            return Some(ChangeMessage::Updated(Arc::clone(&wish.shown)));
        }
        let is_meant = |((of, own), wish): &(&ResourceKey, &WantedResource)| {
            // A part is below the whole, and not merely spelled like it at the start.
            let is_part = |end: &str| own.ends_with('/') || end.starts_with(['/', '#', '?']);
            of == connection && uri.strip_prefix(&**own).is_some_and(is_part) && may_read(&wish.principal)
        };
        let (own, wish) = wanted.uris.iter().find(is_meant)?;
        // A part of a resource that is shown under another URI is shown under that URI, with the same end.
        let end = &uri[own.1.len()..];
        Some(ChangeMessage::Updated(format!("{}{end}", wish.shown).into()))
    }

    /// Returns the principal who wants to know of the resource, if the listener does.
    pub(super) fn holder(&self, resource: &ResourceKey) -> Option<Principal> {
        self.wanted.lock().uris.get(resource).map(|wish| wish.principal.clone())
    }
}

/// The messages that one listener has still to get.
///
/// A change that waits already is not added again, and of messages that cannot be merged the oldest makes room. So a
/// listener that reads slowly costs a bounded amount of memory, and slows down only itself. Nothing is taken out of a new
/// mailbox before [`release`](Self::release).
#[derive(Default)]
pub(super) struct PendingChanges {
    state: Mutex<PendingChangesState>,
    wake: Notify,
}

/// A message to a listener.
pub(super) enum ChangeMessage {
    /// A list of this kind changed.
    List(ListKind),
    /// The resource with this URI changed.
    Updated(Arc<str>),
    /// A message that is passed on as it is.
    Message(Box<Request>),
}

#[derive(Default)]
struct PendingChangesState {
    lists: BTreeSet<ListKind>,
    updated: BTreeSet<Arc<str>>,
    messages: VecDeque<Request>,
    lost: u64,
    delivery: Delivery,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// The changes may not be taken out yet.
    #[default]
    Held,
    /// Nobody delivers: the next one who adds a message has to start it.
    Idle,
    /// A task takes out the messages that wait.
    Running,
    /// The mailbox is closed: nothing is added any more.
    Closed,
}

impl PendingChanges {
    /// Adds a message. Returns whether the caller has to start delivering.
    pub(super) fn offer(&self, news: ChangeMessage) -> bool {
        let mut state = self.state.lock();
        if state.delivery == Delivery::Closed {
            return false;
        }
        match news {
            ChangeMessage::List(kind) => drop(state.lists.insert(kind)),
            ChangeMessage::Updated(uri)
                if state.updated.len() < MAX_UPDATED || state.updated.contains(&uri) =>
            {
                state.updated.insert(uri);
            }
            // A client that has to look at so many resources may as well look at all of them.
            ChangeMessage::Updated(_) => drop(state.lists.insert(ListKind::Resources)),
            ChangeMessage::Message(message) => {
                if state.messages.len() >= MAX_MESSAGES {
                    state.messages.pop_front();
                    state.lost += 1;
                }
                state.messages.push_back(*message);
            }
        }
        let idle = state.delivery == Delivery::Idle;
        if idle {
            state.delivery = Delivery::Running;
        }
        drop(state);
        self.wake.notify_one();
        idle
    }

    /// Returns whether nothing may be taken out yet.
    pub(super) fn is_held(&self) -> bool {
        self.state.lock().delivery == Delivery::Held
    }

    /// Lets the messages that wait be taken out. Returns whether the caller has to start delivering.
    pub(super) fn release(&self) -> bool {
        let mut state = self.state.lock();
        if state.delivery != Delivery::Held {
            return false;
        }
        let is_waiting = state.is_waiting();
        state.delivery = if is_waiting { Delivery::Running } else { Delivery::Idle };
        is_waiting
    }

    /// Takes the next message, or returns `None` when nothing waits: then delivery is over.
    pub(super) fn take(&self) -> Option<Request> {
        let mut state = self.state.lock();
        let next = state.next();
        if state.delivery != Delivery::Closed {
            state.delivery = if next.is_some() { Delivery::Running } else { Delivery::Idle };
        }
        next
    }

    /// Waits for the next message; `None` once nothing waits and nothing will.
    ///
    /// # Cancel safety
    /// Dropping the future takes nothing out.
    pub(super) async fn next(&self) -> Option<Request> {
        loop {
            let wake = self.wake.notified();
            if let Some(next) = self.take() {
                return Some(next);
            }
            if self.state.lock().delivery == Delivery::Closed {
                return None;
            }
            wake.await;
        }
    }

    /// Closes the mailbox: only the messages that wait are still sent.
    pub(super) fn close(&self) {
        self.state.lock().delivery = Delivery::Closed;
        self.wake.notify_one();
    }
}

impl PendingChangesState {
    fn is_waiting(&self) -> bool {
        !self.lists.is_empty() || self.lost > 0 || !self.updated.is_empty() || !self.messages.is_empty()
    }

    fn next(&mut self) -> Option<Request> {
        if let Some(kind) = self.lists.pop_first() {
            return Some(Request::notify(kind.changed(), Object::new()));
        }
        if let Some(uri) = self.updated.pop_first() {
            let params = Object::from([("uri", RawJson::from_text(&uri))]);
            return Some(Request::notify(Method::RESOURCE_UPDATED, params));
        }
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            tracing::debug!(lost, "messages to a listener that reads too slowly were dropped");
        }
        self.messages.pop_front()
    }
}

const MAX_UPDATED: usize = 1024;
const MAX_MESSAGES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> PendingChanges {
        let mailbox = PendingChanges::default();
        assert!(!mailbox.release());
        mailbox
    }

    fn message(number: usize) -> Request {
        Request::notify("notifications/vendor", Object::parse(format!(r#"{{"n":{number}}}"#)).unwrap())
    }

    #[test]
    fn a_change_waits_once_however_often_it_happens() {
        let mailbox = open();
        assert!(mailbox.offer(ChangeMessage::List(ListKind::Tools)));
        assert!(!mailbox.offer(ChangeMessage::List(ListKind::Tools)), "somebody delivers already");
        assert!(!mailbox.offer(ChangeMessage::Updated("a".into())));
        assert_eq!(mailbox.take().unwrap().method, Method::TOOLS_CHANGED);
        let updated = mailbox.take().unwrap();
        assert_eq!(updated.params.text("uri").as_deref(), Some("a"));
        assert!(mailbox.take().is_none());
        assert!(mailbox.offer(ChangeMessage::List(ListKind::Tools)), "delivering has to start again");
    }

    #[test]
    fn nothing_is_delivered_before_it_is_released() {
        let mailbox = PendingChanges::default();
        assert!(!mailbox.offer(ChangeMessage::List(ListKind::Prompts)));
        assert!(mailbox.release());
        assert_eq!(mailbox.take().unwrap().method, Method::PROMPTS_CHANGED);
    }

    #[test]
    fn the_oldest_messages_make_room() {
        let mailbox = open();
        for number in 0..MAX_MESSAGES + 3 {
            mailbox.offer(ChangeMessage::Message(Box::new(message(number))));
        }
        assert_eq!(mailbox.take().unwrap().params.bytes("n"), Some(&b"3"[..]));
        assert_eq!(std::iter::from_fn(|| mailbox.take()).count(), MAX_MESSAGES - 1);
    }

    #[test]
    fn too_many_updates_become_a_change_of_the_list() {
        let mailbox = open();
        for number in 0..=MAX_UPDATED {
            mailbox.offer(ChangeMessage::Updated(number.to_string().into()));
        }
        assert_eq!(mailbox.take().unwrap().method, Method::RESOURCES_CHANGED);
        assert_eq!(std::iter::from_fn(|| mailbox.take()).count(), MAX_UPDATED);
    }
}
