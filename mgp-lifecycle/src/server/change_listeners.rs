//! The sessions that a server tells of changes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mgp_types::mgp::{LifecycleChange, ServerState, method};
use mgp_types::{Method, Object, Outbox, Request, Session};
use parking_lot::Mutex;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The sessions that are told of changes.
///
/// Sessions are held weakly: one that is over is forgotten, and so is one whose peer does not take a message in time.
#[derive(Debug, Default)]
pub(super) struct ChangeListeners {
    sessions: Mutex<HashMap<usize, Weak<Session>>>,
    has_herald: AtomicBool,
    /// Set once no more changes will be told.
    left: watch::Sender<bool>,
}

/// The time to tell one session: a peer that does not read must not hold up the others, nor the end.
const LONGEST_TELLING: Duration = Duration::from_millis(400);

const MAX_SESSIONS: usize = 1024;

impl ChangeListeners {
    /// Adds a session that is told of changes from now on, and returns whether it is the first one: the caller has to
    /// start [`tell_all`](Self::tell_all) then.
    pub(super) fn note(&self, session: &Arc<Session>) -> bool {
        let mut sessions = self.sessions.lock();
        // No other session can have the address as long as the weak pointer is kept.
        let address = Arc::as_ptr(session).addr();
        if !sessions.contains_key(&address) {
            if sessions.len() >= MAX_SESSIONS {
                sessions.retain(|_, session| session.strong_count() > 0);
            }
            if sessions.len() < MAX_SESSIONS {
                sessions.insert(address, Arc::downgrade(session));
            } else {
                tracing::warn!("a session is not told of changes: there are too many sessions");
            }
        }
        drop(sessions);
        !self.has_herald.swap(true, Ordering::AcqRel)
    }

    /// Tells the sessions of all changes, up to the last one.
    pub(super) async fn tell_all(&self, mut changes: Receiver<LifecycleChange>) {
        loop {
            match changes.recv().await {
                Ok(change) => {
                    self.tell(&change).await;
                    if change.new_state == ServerState::Disconnected {
                        return self.leave();
                    }
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "sessions were not told of all changes: they came too fast");
                }
                Err(RecvError::Closed) => return self.leave(),
            }
        }
    }

    /// Notes that no more changes will be told.
    pub(super) fn leave(&self) {
        self.left.send_replace(true);
    }

    /// Resolves when no more changes will be told.
    pub(super) async fn left(&self) {
        if self.has_herald.load(Ordering::Acquire) {
            // The sender is a field of this value, so that there is always one.
            let _ = self.left.subscribe().wait_for(|left| *left).await;
        }
    }

    async fn tell(&self, change: &LifecycleChange) {
        let Ok(params) = Object::from_value(change) else { return };
        let notification = Request::notify(Method::from_static(method::LIFECYCLE), params);
        let mut telling = JoinSet::new();
        for (address, outbox) in self.outboxes() {
            let notification = notification.clone();
            telling.spawn(async move {
                let outcome = timeout(LONGEST_TELLING, outbox.notify(notification)).await;
                (address, matches!(outcome, Ok(Ok(()))))
            });
        }
        while let Some(joined) = telling.join_next().await {
            if let Ok((address, false)) = joined {
                self.sessions.lock().remove(&address);
            }
        }
    }

    fn outboxes(&self) -> Vec<(usize, Outbox)> {
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| session.strong_count() > 0);
        let live = sessions.iter().filter_map(|(address, session)| Some((*address, session.upgrade()?)));
        live.map(|(address, session)| (address, session.outbox.clone())).collect()
    }
}
