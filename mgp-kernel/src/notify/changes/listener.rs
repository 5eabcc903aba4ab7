use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_types::{Principal, Session};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::pending_changes::{ChangeMessage, PendingChanges};
use super::watch::{ResourceKey, ResourceWatch};
use crate::servers::upstream::{ConnectionKey, ListKind};

/// Somebody who is told of changes: a session, or a request that listens.
pub(super) struct ChangeListener {
    pub(super) principal: Principal,
    pub(super) mailbox: PendingChanges,
    /// The session, if it is one; a request that listens takes what waits for it itself.
    pub(super) session: Option<Weak<Session>>,
    /// The runtime of the session's connection: changes may be told on any thread.
    pub(super) runtime: Option<Handle>,
    /// Whether its list of tools is one that the router made. Of the others their makers tell.
    pub(super) lists_tools: AtomicBool,
    wanted: Mutex<ListenFilter>,
    changed_lists: Mutex<ChangedLists>,
}

/// Lists of which a listener is told in a moment, together.
#[derive(Default)]
struct ChangedLists {
    all: Vec<ListKind>,
    /// Whether somebody waits to tell of them.
    is_waiting: bool,
}

/// What a listener wants to know.
#[derive(Default)]
pub(super) struct ListenFilter {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    pub(super) uris: HashMap<ResourceKey, WantedResource, RandomState>,
}

/// A resource whose changes somebody wants to know.
pub(super) struct WantedResource {
    /// The URI by which the listener knows it.
    pub(super) shown: Arc<str>,
    /// Who asked for it last: a session may be that of several, for whom its client speaks.
    pub(super) principal: Principal,
    /// Has the server tell of it for as long as anybody holds one.
    pub(super) _watch: Arc<ResourceWatch>,
}

impl ChangeListener {
    pub(super) fn session(session: &Arc<Session>, principal: Principal) -> Self {
        let wanted = ListenFilter { tools: true, prompts: true, resources: true, ..ListenFilter::default() };
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

    /// Notes that a list changed. Returns whether somebody has to tell of it in a moment.
    pub(super) fn note_changed(&self, what: ListKind) -> bool {
        let mut lists = self.changed_lists.lock();
        if !lists.all.contains(&what) {
            lists.all.push(what);
        }
        !std::mem::replace(&mut lists.is_waiting, true)
    }

    /// Returns the lists that changed since the listener was told last.
    pub(super) fn take_changed(&self) -> Vec<ListKind> {
        let mut lists = self.changed_lists.lock();
        lists.is_waiting = false;
        std::mem::take(&mut lists.all)
    }

    /// What the listener is told of the resource `uri` that is told of on this connection, which may be a part of one that
    /// it wants to know of. Of those who wanted to, `may_read` says who may still.
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
        // A part of what is shown under another URI is shown under that one, with the same end.
        let end = &uri[own.1.len()..];
        Some(ChangeMessage::Updated(format!("{}{end}", wish.shown).into()))
    }

    /// Who wants to know of the resource, if the listener does.
    pub(super) fn holder(&self, resource: &ResourceKey) -> Option<Principal> {
        self.wanted.lock().uris.get(resource).map(|wish| wish.principal.clone())
    }

    pub(super) fn noted_as_listing(&self) {
        self.lists_tools.store(true, Ordering::Relaxed);
    }
}

/// Whether `uri` is below `whole`, and not merely spelled like it at the start.
fn is_part_of(uri: &str, whole: &str) -> bool {
    let Some(end) = uri.strip_prefix(whole) else { return false };
    whole.ends_with('/') || end.starts_with(['/', '#', '?'])
}
