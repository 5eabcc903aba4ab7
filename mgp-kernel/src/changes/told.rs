use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use mgp_types::{Method, Request, Session, Severity};

use super::Changes;
use super::levels::tell_levels;
use super::listener::{Listener, Wanted};
use super::mailbox::News;
use super::tasks::name;
use super::watch::ask_again;
use crate::parts::Parts;
use crate::upstream::{Line, Told, What};

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
    fn connected(&self, line: &Line, is_new: bool) {
        let Some(parts) = self.0.upgrade() else { return };
        // Who may use it may be others than before, with the same tools.
        parts.changes.revision.fetch_add(1, Ordering::AcqRel);
        parts.changes.levels.forget(line);
        let (errand, line) = (Arc::clone(&parts), line.clone());
        parts.changes.run(async move {
            tell_levels(&errand).await;
            if is_new {
                ask_again(&errand, &line).await;
            }
        });
    }

    fn ended(&self, line: &Line) {
        self.with(|changes| {
            changes.levels.forget(line);
        });
    }

    fn log(&self, line: &Line, message: Request) {
        self.with(|changes| changes.log(line, &message));
    }

    fn changed(&self, line: &Line, what: What) {
        self.with(|changes| changes.changed(line, what));
    }

    fn updated(&self, line: &Line, uri: &str) {
        self.with(|changes| changes.updated(line, uri));
    }

    fn said(&self, line: &Line, message: Request) {
        self.with(|changes| changes.said(line, &message));
    }

    fn only_client(&self) -> Option<Arc<Session>> {
        self.0.upgrade()?.changes.only_client()
    }
}

impl Changes {
    fn log(&self, line: &Line, message: &Request) {
        let level = message.params.text("level").and_then(|level| Severity::named(&level));
        // One without a level that we know is for those who want everything.
        let level = level.or_else(|| Severity::named("debug"));
        let Some(level) = level else { return };
        for listener in self.reaching(line) {
            let session = listener.session.as_ref().and_then(Weak::upgrade);
            if session.is_some_and(|session| session.wants_log(level)) {
                self.offer(&listener, News::Message(Box::new(message.clone())));
            }
        }
    }

    /// One of a server's lists changed.
    pub(crate) fn changed(&self, line: &Line, what: What) {
        self.revision.fetch_add(1, Ordering::AcqRel);
        if what == What::Tools {
            self.tell_tools();
        }
        for listener in self.reaching(line) {
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
    pub(super) fn updated(&self, line: &Line, uri: &str) {
        for listener in self.reaching(line) {
            if let Some(news) = listener.updated(line, uri) {
                self.offer(&listener, news);
            }
        }
    }

    fn said(&self, line: &Line, message: &Request) {
        let task = (message.method == Method::TASK_STATUS).then(|| message.params.text("taskId"));
        let listeners = self.reaching(line).into_iter().filter(|listener| listener.session.is_some());
        for listener in listeners {
            let mut message = message.clone();
            if let Some(task) = &task {
                let own = task.as_deref();
                let shown = own.and_then(|own| self.tasks.shown(&listener.principal, &line.server, own));
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

    /// Those who may use something of the server, and whose connection it is.
    fn reaching(&self, line: &Line) -> Vec<Arc<Listener>> {
        let mut all = self.listeners();
        all.retain(|listener| {
            let agent = &listener.principal;
            line.is_for(agent) && self.access.reaches(agent.as_str(), line.server.as_str())
        });
        all
    }
}
