//! Changes of a server's state, broadcast to listeners.

use mgp_types::mgp::{LifecycleChange, ServerId, ServerState, Timestamp};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// The changes of one server's state, as they happen.
#[derive(Debug)]
pub struct LifecycleChanges(broadcast::Receiver<LifecycleChange>);

impl LifecycleChanges {
    pub(crate) const fn new(changes: broadcast::Receiver<LifecycleChange>) -> Self {
        Self(changes)
    }

    /// Returns the next change; `None` when the server can have no more. A listener that is too slow loses the oldest
    /// changes: the previous state of the next one is then not the new state of the last one.
    ///
    /// # Cancel safety
    /// Dropping the future loses no change.
    pub async fn next(&mut self) -> Option<LifecycleChange> {
        loop {
            match self.0.recv().await {
                Ok(change) => return Some(change),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// Tells all listeners that `server` went from one state to another. The function never waits for a listener.
pub(crate) fn tell(
    changes: &broadcast::Sender<LifecycleChange>,
    server: &ServerId,
    from: ServerState,
    to: ServerState,
    reason: Option<&str>,
) {
    tracing::info!(server = server.as_str(), %from, %to, reason, "server changed state");
    let mut change = LifecycleChange::new(server.clone(), from, to, Timestamp::now());
    change.reason = reason.map(str::to_owned);
    // Sending fails only without a listener.
    let _ = changes.send(change);
}

/// The number of changes that are kept for a slow listener.
pub(crate) const CHANGES_KEPT: usize = 64;
