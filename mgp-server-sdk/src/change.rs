//! Changes of the catalog, resources and tasks, and the listeners that get notifications of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use mgp_types::{Error, Method, Object, RawJson, Request, Session, code};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// A change that clients may want to know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    /// The contents of the resource with this URI.
    Updated(Arc<str>),
    /// The status of the task with this id.
    Task(Arc<str>),
}

/// The changes that wait for one listener.
///
/// A change that waits already is not added again, so the number of waiting changes is bounded by the listener's
/// wishes, however slowly it reads.
#[derive(Debug)]
pub(crate) struct PendingChanges {
    state: Mutex<PendingChangesState>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct PendingChangesState {
    wanted: WantedChanges,
    waiting: BTreeSet<Change>,
    delivering: bool,
    closed: bool,
}

/// The changes that a listener wants.
pub(crate) type WantedChanges = BTreeSet<Change>;

impl PendingChanges {
    fn new(wanted: WantedChanges) -> Self {
        let state = PendingChangesState { wanted, ..PendingChangesState::default() };
        Self { state: Mutex::new(state), wake: Notify::new() }
    }

    /// Adds a change if it is wanted; returns whether the caller has to start delivering.
    fn offer(&self, change: &Change) -> bool {
        let mut state = self.state.lock();
        if state.closed || !state.wanted.contains(change) {
            return false;
        }
        state.waiting.insert(change.clone());
        let idle = !std::mem::replace(&mut state.delivering, true);
        drop(state);
        self.wake.notify_one();
        idle
    }

    /// Returns the next change; `None` when none waits: then delivering is over.
    fn take(&self) -> Option<Change> {
        let mut state = self.state.lock();
        let next = state.waiting.pop_first();
        state.delivering = next.is_some();
        next
    }

    /// Waits for the next change; `None` once the mailbox is closed.
    pub(crate) async fn next(&self) -> Option<Change> {
        loop {
            let wake = self.wake.notified();
            if let Some(change) = self.take() {
                return Some(change);
            }
            if self.state.lock().closed {
                return None;
            }
            wake.await;
        }
    }

    /// Ends the listening.
    fn close(&self) {
        self.state.lock().closed = true;
        self.wake.notify_one();
    }

    /// Changes the wishes of the listener.
    fn edit<R>(&self, edit: impl FnOnce(&mut WantedChanges) -> R) -> R {
        edit(&mut self.state.lock().wanted)
    }
}

/// The listeners to changes: open sessions, and requests that listen.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    /// The sessions by address, which no other session gets as long as the weak reference is kept.
    sessions: Mutex<HashMap<usize, ListeningSession>>,
    subscriptions: Mutex<Vec<Weak<PendingChanges>>>,
}

/// A session that the server pushes changes to.
#[derive(Debug)]
struct ListeningSession {
    session: Weak<Session>,
    mailbox: Arc<PendingChanges>,
    /// The runtime of the session's connection; changes may be made on any thread.
    runtime: Option<Handle>,
}

/// The number of resources that one client may subscribe to.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 1024;

impl Listeners {
    /// Pushes changes to the session from now on.
    pub(crate) fn open(&self, session: &Arc<Session>) {
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, listening| listening.session.strong_count() > 0);
        let lists = [Change::Tools, Change::Prompts, Change::Resources];
        sessions.entry(address(session)).or_insert_with(|| ListeningSession {
            session: Arc::downgrade(session),
            mailbox: Arc::new(PendingChanges::new(lists.into())),
            runtime: Handle::try_current().ok(),
        });
    }

    /// Pushes changes of the resource to the session.
    ///
    /// # Errors
    /// The session has as many subscriptions as it may.
    pub(crate) fn subscribe(&self, session: &Arc<Session>, uri: &str) -> Result<(), Error> {
        self.open(session);
        self.edit(session, |wanted| {
            let uris = wanted.iter().filter(|change| matches!(change, Change::Updated(_))).count();
            let wish = Change::Updated(uri.into());
            if uris >= MAX_SUBSCRIPTIONS && !wanted.contains(&wish) {
                return Err(Error::new(code::RESOURCE_EXHAUSTED, "too many subscriptions"));
            }
            wanted.insert(wish);
            Ok(())
        })
        .unwrap_or(Ok(()))
    }

    /// Ends [`subscribe`](Self::subscribe).
    pub(crate) fn unsubscribe(&self, session: &Arc<Session>, uri: &str) {
        self.edit(session, |wanted| wanted.remove(&Change::Updated(uri.into())));
    }

    /// Pushes changes of the task to its session.
    pub(crate) fn follow(&self, session: &Arc<Session>, task: &Arc<str>) {
        self.open(session);
        self.edit(session, |wanted| wanted.insert(Change::Task(task.clone())));
    }

    /// Forgets a task that no longer exists.
    pub(crate) fn forget(&self, task: &str) {
        let task = Change::Task(task.into());
        for listening in self.sessions.lock().values() {
            listening.mailbox.edit(|wanted| wanted.remove(&task));
        }
    }

    /// Returns the mailbox of a request that listens. The listeners forget the mailbox when it is dropped.
    pub(crate) fn listen(&self, wanted: WantedChanges) -> Arc<PendingChanges> {
        let mailbox = Arc::new(PendingChanges::new(wanted));
        let mut subscriptions = self.subscriptions.lock();
        subscriptions.retain(|subscription| subscription.strong_count() > 0);
        subscriptions.push(Arc::downgrade(&mailbox));
        mailbox
    }

    /// Ends all requests that listen.
    pub(crate) fn end_subscriptions(&self) {
        for mailbox in self.subscriptions.lock().drain(..).filter_map(|subscription| subscription.upgrade()) {
            mailbox.close();
        }
    }

    /// Puts the change into the mailboxes of the listeners that want it. A session gets it as `written`, when it is pushed.
    pub(crate) fn announce<F>(&self, change: &Change, written: F)
    where
        F: Fn(&Change) -> Option<Request> + Clone + Send + 'static,
    {
        for mailbox in self.subscriptions.lock().iter().filter_map(Weak::upgrade) {
            mailbox.offer(change);
        }
        for listening in self.sessions.lock().values() {
            let Some(session) = listening.session.upgrade() else { continue };
            if listening.mailbox.offer(change) {
                let pushing = push(session, listening.mailbox.clone(), written.clone());
                if let Some(runtime) = listening.runtime.clone().or_else(|| Handle::try_current().ok()) {
                    drop(runtime.spawn(pushing));
                } else {
                    tracing::warn!("changes cannot be pushed without a tokio runtime");
                }
            }
        }
    }

    fn edit<R>(&self, session: &Arc<Session>, edit: impl FnOnce(&mut WantedChanges) -> R) -> Option<R> {
        self.sessions.lock().get(&address(session)).map(|listening| listening.mailbox.edit(edit))
    }
}

/// Sends the waiting changes to a session, and ends when none is left.
async fn push(
    session: Arc<Session>,
    mailbox: Arc<PendingChanges>,
    written: impl Fn(&Change) -> Option<Request> + Send,
) {
    while let Some(change) = mailbox.take() {
        let Some(notification) = written(&change) else { continue };
        if let Err(error) = session.outbox.notify(notification).await {
            tracing::debug!(%error, "a change was not pushed");
        }
    }
}

/// Returns the notification of any change but that of a task.
pub(crate) fn notification(change: &Change) -> Request {
    match change {
        Change::Tools => Request::notify(Method::TOOLS_CHANGED, Object::new()),
        Change::Prompts => Request::notify(Method::PROMPTS_CHANGED, Object::new()),
        Change::Resources => Request::notify(Method::RESOURCES_CHANGED, Object::new()),
        Change::Updated(name) | Change::Task(name) => {
            let params = Object::from([("uri", RawJson::from_text(name))]);
            Request::notify(Method::RESOURCE_UPDATED, params)
        }
    }
}

fn address(session: &Arc<Session>) -> usize {
    Arc::as_ptr(session).addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wanted_changes_wait_and_each_once() {
        let mailbox = PendingChanges::new([Change::Tools, Change::Updated("a".into())].into());
        assert!(mailbox.offer(&Change::Tools));
        assert!(!mailbox.offer(&Change::Tools));
        assert!(!mailbox.offer(&Change::Prompts));
        mailbox.offer(&Change::Updated("a".into()));
        mailbox.offer(&Change::Updated("b".into()));
        assert_eq!(mailbox.take(), Some(Change::Tools));
        assert_eq!(mailbox.take(), Some(Change::Updated("a".into())));
        assert_eq!(mailbox.take(), None);
        assert!(mailbox.offer(&Change::Tools), "delivering has to start again");
    }
}
