//! The listeners of changes, and what each of them wants to know.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_types::{Principal, Session};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::pending_changes::{ChangeMessage, PendingChanges};
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
            mailbox: PendingChanges::held(),
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

    pub(super) fn edit<R>(&self, edit: impl FnOnce(&mut ListenFilter) -> R) -> R {
        edit(&mut self.wanted.lock())
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
        line: &ConnectionKey,
        uri: &str,
        may_read: impl Fn(&Principal) -> bool,
    ) -> Option<ChangeMessage> {
        let wanted = self.wanted.lock();
        let whole = wanted.uris.get(&(line.clone(), uri.into()));
        if let Some(wish) = whole.filter(|wish| may_read(&wish.principal)) {
            return Some(ChangeMessage::Updated(Arc::clone(&wish.shown)));
        }
        let is_meant = |((of, own), wish): &(&ResourceKey, &WantedResource)| {
            of == line && is_part_of(uri, own) && may_read(&wish.principal)
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

/// Returns whether `uri` is below `whole`, and not merely spelled like it at the start.
fn is_part_of(uri: &str, whole: &str) -> bool {
    let Some(end) = uri.strip_prefix(whole) else { return false };
    whole.ends_with('/') || end.starts_with(['/', '#', '?'])
}
