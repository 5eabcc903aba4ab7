//! The notifications of servers, passed to the clients of the kernel that they concern.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::{Error, Method, Object, Principal, RawJson, Request, Response, Session, Severity};
use parking_lot::Mutex;

use super::listener::{ChangeListener, ChangeMessage};
use super::watch::{ResourceKey, ask_again};
use super::{ChangeListeners, push};
use crate::servers::fan_out::{ask, has};
use crate::servers::upstream::{ConnectionKey, ListKind, ServerNotifications};

impl ServerNotifications for ChangeListeners {
    fn connected(self: Arc<Self>, connection: &ConnectionKey, is_new: bool) {
        // The agents that may use the server may have changed, with the same tools.
        self.revision.fetch_add(1, Ordering::AcqRel);
        let (errand, connection) = (Arc::clone(&self), connection.clone());
        self.run(None, async move {
            tell_levels(&errand).await;
            if is_new {
                ask_again(&errand, &connection).await;
            }
        });
    }

    fn log_level(&self, connection: &ConnectionKey, capabilities: &Object) -> Option<Severity> {
        // The server knows nothing of what an earlier connection was asked for.
        self.levels.lock().remove(connection);
        self.level_for(connection, capabilities).map(|(level, _)| level)
    }

    fn ended(&self, connection: &ConnectionKey) {
        self.levels.lock().remove(connection);
    }

    fn task(&self, from: &ConnectionKey, owner: &Principal, status: &Request) {
        let is_its =
            |listener: &Arc<ChangeListener>| listener.session.is_some() && listener.principal == *owner;
        for listener in self.reaching(from).into_iter().filter(is_its) {
            self.offer(&listener, ChangeMessage::Message(Box::new(status.clone())));
        }
    }

    fn one(&self, session: &Arc<Session>, message: Request) {
        if let Some(listener) = self.session(session) {
            self.offer(&listener, ChangeMessage::Message(Box::new(message)));
        }
    }

    fn log(&self, from: &ConnectionKey, message: &Request) {
        let level = message.params.text("level").and_then(|level| Severity::named(&level));
        // A message without a known level is for those who want everything.
        let Some(level) = level.or_else(|| Severity::named("debug")) else { return };
        let is_its = |listener: &Arc<ChangeListener>| self.fleet.is_connection_of(from, &listener.principal);
        for listener in self.reaching(from).into_iter().filter(is_its) {
            let session = listener.session.as_ref().and_then(Weak::upgrade);
            if session.is_some_and(|session| session.wants_log(level)) {
                self.offer(&listener, ChangeMessage::Message(Box::new(message.clone())));
            }
        }
    }

    fn changed(&self, connection: &ConnectionKey, what: ListKind) {
        self.revision.fetch_add(1, Ordering::AcqRel);
        if what == ListKind::Tools {
            self.tell_tools();
        }
        // While servers start, each of them brings a list of its own.
        let pause = if self.fleet.is_starting() { STARTING_PAUSE } else { PAUSE };
        // For a server that is gone it is no longer known whom it let in.
        let upstream = self.fleet.get(connection.server.as_str());
        let admits = |agent: &Principal| upstream.as_ref().is_none_or(|upstream| upstream.admits(agent));
        let reaching = self.reaching(connection);
        for listener in reaching.into_iter().filter(|listener| admits(&listener.principal)) {
            if self.is_wanted(&listener, what) {
                self.offer_together(&listener, what, pause);
            }
        }
    }

    fn updated(&self, from: &ConnectionKey, uri: &str) {
        for listener in self.listeners() {
            if let Some(news) = listener.updated(from, uri, |principal| self.may_read(from, principal)) {
                self.offer(&listener, news);
            }
        }
    }

    fn only_client(&self, from: &ConnectionKey) -> Option<Arc<Session>> {
        let sessions = self.sessions.lock();
        let mut there = sessions.values().filter(|listener| {
            let is_its = || self.fleet.is_connection_of(from, &listener.principal);
            listener.is_there() && self.hears(listener, from) && is_its()
        });
        let only = there.next().filter(|_| there.next().is_none())?;
        only.session.as_ref().and_then(Weak::upgrade).filter(|_| !only.mailbox.is_held())
    }

    fn watches_on(&self, connection: &ConnectionKey) -> bool {
        let is_relayed =
            |relayed: &Weak<ConnectionKey>| relayed.upgrade().is_some_and(|relayed| *relayed == *connection);
        !self.watches.on(connection).is_empty() || self.relayed.lock().iter().any(is_relayed)
    }

    fn forget_gone(&self) {
        let gone: Vec<_> = self.sessions.lock().extract_if(|_, listener| !listener.is_there()).collect();
        // The subscriptions are dropped without the lock.
        drop(gone);
    }
}

impl ChangeListeners {
    /// Notifies the listener of a changed list after a pause, once for all that changes meanwhile.
    fn offer_together(&self, listener: &Arc<ChangeListener>, what: ListKind, pause: Duration) {
        if !listener.note_changed(what) {
            return;
        }
        let this = Arc::clone(listener);
        self.run(Some(listener), async move {
            tokio::time::sleep(pause).await;
            let (changed, mut has_to_push) = (std::mem::take(&mut *this.changed_lists.lock()), false);
            for what in changed {
                has_to_push |= this.mailbox.offer(ChangeMessage::List(what));
            }
            if has_to_push && this.session.is_some() {
                push(this).await;
            }
        });
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

/// The log level that was last requested on each connection.
pub(super) type LogLevels = Mutex<HashMap<ConnectionKey, Severity, RandomState>>;

/// Answers `logging/setLevel`: from now on the session gets messages that are at least as severe, and each server that
/// it reaches is asked for the level that the most verbose session wants.
pub(crate) async fn set_level(changes: Arc<ChangeListeners>, request: Request) -> Result<Response, Error> {
    let level = request.params.text("level").and_then(|level| Severity::named(&level));
    let known = "`level` is one of debug, info, notice, warning, error, critical, alert and emergency";
    let level = level.ok_or_else(|| Error::invalid_params(known))?;
    request.context.session()?.set_log_level(Some(level));
    changes.open(&request.context);
    tell_levels(&changes).await;
    Ok(Response::empty())
}

/// Asks servers for the level that is wanted of them now, where they were not asked for it yet.
pub(super) async fn tell_levels(changes: &ChangeListeners) {
    let mut wanted = Vec::new();
    for upstream in changes.fleet.all() {
        for (connection, session, capabilities) in upstream.open_sessions() {
            // A server without sessions gets the level with each request.
            if session.describes_each_request() {
                continue;
            }
            if let Some((level, principal)) = changes.level_for(&connection, &capabilities) {
                let params = Object::from([("level", RawJson::from_text(level.as_str()))]);
                let mut request = Request::call(Method::SET_LEVEL, params);
                request.context.principal = Some(principal);
                wanted.push((connection, Arc::clone(&upstream), request));
            }
        }
    }
    for (connection, outcome) in ask(wanted).await {
        if let Err(error) = outcome {
            changes.levels.lock().remove(&connection);
            tracing::debug!(server = %connection, %error, "a server did not take a level of logging");
        }
    }
}

impl ChangeListeners {
    /// Returns the level that a server of these capabilities is to be asked for, and notes it as asked for; `None` if it
    /// was asked for that already, or nobody wants messages of it.
    pub(super) fn level_for(
        &self,
        connection: &ConnectionKey,
        offers: &Object,
    ) -> Option<(Severity, Principal)> {
        let wanted = has(offers, &["logging"]).then(|| self.most_verbose(connection))??;
        (self.levels.lock().insert(connection.clone(), wanted.0) != Some(wanted.0)).then_some(wanted)
    }

    /// Returns the least severe level that a session wants on the connection, and the principal of that session.
    fn most_verbose(&self, connection: &ConnectionKey) -> Option<(Severity, Principal)> {
        let sessions = self.sessions.lock();
        let levels = sessions.values().filter_map(|listener| {
            let level = listener.session.as_ref().and_then(Weak::upgrade)?.log_level()?;
            Some((level, &listener.principal))
        });
        let reaches = |agent: &Principal| {
            self.fleet.is_connection_of(connection, agent)
                && self.access.reaches(&agent.access_id(), connection.server.as_str())
        };
        let most = levels.filter(|(_, principal)| reaches(principal)).max_by_key(|(level, _)| *level);
        most.map(|(level, principal)| (level, principal.clone()))
    }
}
