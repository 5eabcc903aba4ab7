use mgp_types::mgp::{LifecycleChange, ServerId, ServerState, Timestamp};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// The transitions of one server, as they happen.
#[derive(Debug)]
pub struct Changes(broadcast::Receiver<LifecycleChange>);

impl Changes {
    pub(crate) const fn new(changes: broadcast::Receiver<LifecycleChange>) -> Self {
        Self(changes)
    }

    /// The next transition; `None` when nobody is left who could make one. Whoever is too slow loses the oldest: the next
    /// one's previous state is then not the last one's new state.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
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

/// Tells all who listen that `server` went from one state to another. Nobody can hold it up.
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
    // Fails only if nobody listens.
    let _ = changes.send(change);
}

/// Whoever is slower than so many changes misses the oldest.
pub(crate) const CHANGES_KEPT: usize = 64;
