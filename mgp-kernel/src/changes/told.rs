use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use mgp_types::mgp::ServerId;
use mgp_types::{Method, Request, Session, Severity};

use super::Changes;
use super::levels::tell_levels;
use super::listener::{Listener, Wanted};
use super::mailbox::News;
use super::tasks::name;
use crate::parts::Parts;
use crate::upstream::{Told, What};

/// Has the clients of the kernel told what its servers say.
pub(crate) struct Teller(Weak<Parts>);

impl Teller {
    pub(crate) fn new(parts: &Arc<Parts>) -> Self {
        Self(Arc::downgrade(parts))
    }

    fn with(&self, tell: impl FnOnce(&Changes)) {
        if let Some(parts) = self.0.upgrade() {
            tell(&parts.changes);
        }
    }
}

impl Told for Teller {
    fn connected(&self, server: &ServerId) {
        let Some(parts) = self.0.upgrade() else { return };
        // Who may use it may be others than before, with the same tools.
        parts.changes.revision.fetch_add(1, Ordering::AcqRel);
        parts.changes.levels.forget(server);
        let errand = Arc::clone(&parts);
        parts.changes.run(async move { tell_levels(&errand).await });
    }

    fn log(&self, server: &ServerId, message: Request) {
        self.with(|changes| changes.log(server, &message));
    }

    fn changed(&self, server: &ServerId, what: What) {
        self.with(|changes| changes.changed(server, what));
    }

    fn updated(&self, server: &ServerId, uri: &str) {
        self.with(|changes| changes.updated(server, uri));
    }

    fn said(&self, server: &ServerId, message: Request) {
        self.with(|changes| changes.said(server, &message));
    }

    fn only_client(&self) -> Option<Arc<Session>> {
        self.0.upgrade()?.changes.only_client()
    }
}

impl Changes {
    fn log(&self, server: &ServerId, message: &Request) {
        let level = message.params.text("level").and_then(|level| Severity::named(&level));
        // One without a level that we know is for those who want everything.
        let level = level.or_else(|| Severity::named("debug"));
        let Some(level) = level else { return };
        for listener in self.reaching(server) {
            let session = listener.session.as_ref().and_then(Weak::upgrade);
            if session.is_some_and(|session| session.wants_log(level)) {
                self.offer(&listener, News::Message(Box::new(message.clone())));
            }
        }
    }

    /// One of a server's lists changed.
    pub(crate) fn changed(&self, server: &ServerId, what: What) {
        self.revision.fetch_add(1, Ordering::AcqRel);
        if what == What::Tools {
            self.tell_tools();
        }
        for listener in self.reaching(server) {
            let is_wanted = |wanted: &mut Wanted| match what {
                What::Tools => wanted.tools,
                What::Prompts => wanted.prompts,
                What::Resources => wanted.resources,
            };
            if !listener.edit(is_wanted) {
                continue;
            }
            match what {
                What::Tools if self.has_router_tools(&listener) => self.offer(&listener, News::Tools),
                What::Tools => {}
                What::Prompts => self.offer(&listener, News::Prompts),
                What::Resources => self.offer(&listener, News::Resources),
            }
        }
    }

    /// A resource changed.
    pub(super) fn updated(&self, server: &ServerId, uri: &str) {
        for listener in self.reaching(server) {
            if let Some(news) = listener.updated(server, uri) {
                self.offer(&listener, news);
            }
        }
    }

    fn said(&self, server: &ServerId, message: &Request) {
        let task = (message.method == Method::TASK_STATUS).then(|| message.params.text("taskId"));
        let listeners = self.reaching(server).into_iter().filter(|listener| listener.session.is_some());
        for listener in listeners {
            let mut message = message.clone();
            if let Some(task) = &task {
                let own = task.as_deref();
                let shown = own.and_then(|own| self.tasks.shown(&listener.principal, server, own));
                let Some(shown) = shown else { continue };
                if own != Some(&*shown) {
                    name(&mut message.params, &shown);
                }
            }
            self.offer(&listener, News::Message(Box::new(message)));
        }
    }

    fn only_client(&self) -> Option<Arc<Session>> {
        let sessions = self.sessions.lock();
        let mut there =
            sessions.values().filter_map(|listener| listener.session.as_ref().and_then(Weak::upgrade));
        there.next().filter(|_| there.next().is_none())
    }

    /// Those who may use something of the server.
    fn reaching(&self, server: &ServerId) -> Vec<Arc<Listener>> {
        let mut all = self.listeners();
        all.retain(|listener| self.access.reaches(listener.principal.as_str(), server.as_str()));
        all
    }
}
