//! The notifications of servers, passed to the clients of the kernel that they concern.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mgp_types::{Object, Principal, Request, Session, Severity};
use tokio::runtime::Handle;

use super::levels::tell_levels;
use super::listener::{ChangeListener, ListenFilter};
use super::pending_changes::ChangeMessage;
use super::tasks::name;
use super::watch::{ResourceKey, ask_again};
use super::{ChangeListeners, push};
use crate::servers::upstream::{ConnectionKey, ListKind, ServerNotifications};

/// Notifies the clients of the kernel of what its servers send. The servers hold this notifier, so it does not keep the
/// listeners alive.
pub(crate) struct ClientNotifier(Weak<ChangeListeners>);

impl ClientNotifier {
    pub(crate) fn new(changes: &Weak<ChangeListeners>) -> Self {
        Self(Weak::clone(changes))
    }

    fn with(&self, tell: impl FnOnce(&ChangeListeners)) {
        if let Some(changes) = self.0.upgrade() {
            tell(&changes);
        }
    }
}

impl ServerNotifications for ClientNotifier {
    fn connected(&self, line: &ConnectionKey, is_new: bool) {
        let Some(changes) = self.0.upgrade() else { return };
        // The agents that may use the server may have changed, with the same tools.
        changes.revision.fetch_add(1, Ordering::AcqRel);
        let (errand, line) = (Arc::clone(&changes), line.clone());
        changes.run(async move {
            tell_levels(&errand).await;
            if is_new {
                ask_again(&errand, &line).await;
            }
        });
    }

    fn log_level(&self, line: &ConnectionKey, capabilities: &Object) -> Option<Severity> {
        let changes = self.0.upgrade()?;
        // The server knows nothing of what an earlier connection was asked for.
        changes.levels.forget(line);
        changes.level_to_ask_for(line, capabilities).map(|(level, _)| level)
    }

    fn ended(&self, line: &ConnectionKey) {
        self.with(|changes| changes.levels.forget(line));
    }

    fn log(&self, from: &ConnectionKey, message: Request) {
        self.with(|changes| changes.log(from, &message));
    }

    fn changed(&self, line: &ConnectionKey, what: ListKind) {
        self.with(|changes| changes.changed(line, what));
    }

    fn updated(&self, from: &ConnectionKey, uri: &str) {
        self.with(|changes| changes.updated(from, uri));
    }

    fn task(&self, from: &ConnectionKey, status: Request) {
        self.with(|changes| changes.task(from, &status));
    }

    fn one(&self, session: &Arc<Session>, message: Request) {
        self.with(|changes| changes.one(session, message));
    }

    fn is_watched(&self, line: &ConnectionKey) -> bool {
        self.0.upgrade().is_some_and(|changes| changes.watches_on(line))
    }

    fn forget_gone(&self) {
        self.with(ChangeListeners::forget_gone);
    }

    fn only_client(&self, from: &ConnectionKey) -> Option<Arc<Session>> {
        self.0.upgrade()?.only_client(from)
    }
}

impl ChangeListeners {
    fn log(&self, from: &ConnectionKey, message: &Request) {
        let level = message.params.text("level").and_then(|level| Severity::named(&level));
        // A message without a known level is for those who want everything.
        let level = level.or_else(|| Severity::named("debug"));
        let Some(level) = level else { return };
        let is_its = |listener: &Arc<ChangeListener>| self.fleet.is_line_of(from, &listener.principal);
        for listener in self.reaching(from).into_iter().filter(is_its) {
            let session = listener.session.as_ref().and_then(Weak::upgrade);
            if session.is_some_and(|session| session.wants_log(level)) {
                self.offer(&listener, ChangeMessage::Message(Box::new(message.clone())));
            }
        }
    }

    /// Notifies the listeners that reach the connection of a change of one of its lists.
    fn changed(&self, line: &ConnectionKey, what: ListKind) {
        self.revision.fetch_add(1, Ordering::AcqRel);
        if what == ListKind::Tools {
            self.tell_tools();
        }
        // While servers start, each of them brings a list of its own.
        let pause = if self.fleet.is_starting() { STARTING_PAUSE } else { PAUSE };
        // For a server that is gone it is no longer known whom it let in.
        let upstream = self.fleet.get(line.server.as_str());
        let admits = |agent: &Principal| upstream.as_ref().is_none_or(|upstream| upstream.admits(agent));
        let reaching = self.reaching(line);
        for listener in reaching.into_iter().filter(|listener| admits(&listener.principal)) {
            let is_wanted = |wanted: &mut ListenFilter| match what {
                ListKind::Tools => wanted.tools,
                ListKind::Prompts => wanted.prompts,
                ListKind::Resources => wanted.resources,
            };
            if !listener.edit(is_wanted) {
                continue;
            }
            if what != ListKind::Tools || self.has_router_tools(&listener) {
                self.offer_together(&listener, what, pause);
            }
        }
    }

    /// Notifies the listener of a changed list after a pause, once for all that changes meanwhile.
    fn offer_together(&self, listener: &Arc<ChangeListener>, what: ListKind, pause: Duration) {
        if !listener.note_changed(what) {
            return;
        }
        let runtime = listener.runtime.clone().or_else(|| Handle::try_current().ok());
        let Some(runtime) = runtime else { return };
        let listener = Arc::clone(listener);
        let mut errands = self.errands.lock();
        while errands.try_join_next().is_some() {}
        errands.spawn_on(
            async move {
                tokio::time::sleep(pause).await;
                let mut has_to_push = false;
                for what in listener.take_changed() {
                    has_to_push |= listener.mailbox.offer(ChangeMessage::of_list(what));
                }
                if has_to_push && listener.session.is_some() {
                    push(listener).await;
                }
            },
            &runtime,
        );
    }

    /// Notifies the listeners of a changed resource. Resources belong to a server as a whole, as they do where they are
    /// read.
    pub(super) fn updated(&self, from: &ConnectionKey, uri: &str) {
        for listener in self.listeners() {
            if let Some(news) = listener.updated(from, uri, |principal| self.may_read(from, principal)) {
                self.offer(&listener, news);
            }
        }
    }

    /// Returns a principal who wants to know of the resource, and may.
    pub(super) fn holder(&self, resource: &ResourceKey) -> Option<Principal> {
        let listeners = self.listeners();
        let mut holders = listeners.iter().filter_map(|listener| listener.holder(resource));
        holders.find(|principal| self.may_read(&resource.0, principal))
    }

    fn may_read(&self, from: &ConnectionKey, principal: &Principal) -> bool {
        from.is_for(principal)
            && self.access.decide(&principal.access_id(), from.server.as_str(), None).allows()
    }

    fn task(&self, from: &ConnectionKey, status: &Request) {
        let Some(own) = status.params.text("taskId") else { return };
        for listener in self.reaching(from).into_iter().filter(|listener| listener.session.is_some()) {
            let shown = self.tasks.shown(&listener.principal, &from.server, &own);
            let Some(shown) = shown else { continue };
            let mut status = status.clone();
            if *own != *shown {
                name(&mut status.params, &shown);
            }
            self.offer(&listener, ChangeMessage::Message(Box::new(status)));
        }
    }

    fn one(&self, session: &Arc<Session>, message: Request) {
        if let Some(listener) = self.session(session) {
            self.offer(&listener, ChangeMessage::Message(Box::new(message)));
        }
    }

    /// Returns the session of the only client that a message can be meant for. A client that has not begun yet counts
    /// as well, although it cannot be asked.
    fn only_client(&self, from: &ConnectionKey) -> Option<Arc<Session>> {
        let sessions = self.sessions.lock();
        let mut there = sessions.values().filter(|listener| {
            let is_its = || self.fleet.is_line_of(from, &listener.principal);
            listener.is_there() && self.hears(listener, from) && is_its()
        });
        let only = there.next().filter(|_| there.next().is_none())?;
        only.session.as_ref().and_then(Weak::upgrade).filter(|_| !only.mailbox.is_held())
    }

    /// Returns the listeners that may use something of the server, on the connection that the message comes from.
    fn reaching(&self, from: &ConnectionKey) -> Vec<Arc<ChangeListener>> {
        let mut all = self.listeners();
        all.retain(|listener| self.hears(listener, from));
        all
    }

    fn hears(&self, listener: &ChangeListener, from: &ConnectionKey) -> bool {
        from.is_for(&listener.principal)
            && self.access.reaches(&listener.principal.access_id(), from.server.as_str())
    }
}

/// The time for which a changed list waits for other changes.
const PAUSE: Duration = Duration::from_millis(100);
/// The time for which a changed list waits for other changes while servers are being connected to for the first time.
const STARTING_PAUSE: Duration = Duration::from_millis(500);
