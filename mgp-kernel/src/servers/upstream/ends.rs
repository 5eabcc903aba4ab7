//! The ends of servers that nobody ordered: what is logged and counted of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mgp_client_sdk::RestartSettings;
use mgp_types::mgp::{LifecycleChange, ServerState};

use super::connection_shared::ConnectionShared;

/// The counts of the ends of one server that nobody ordered. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerEnds(Arc<EndCounters>);

#[derive(Debug, Default)]
struct EndCounters {
    ended: AtomicU64,
    given_up: AtomicU64,
}

impl ServerEnds {
    /// Returns how often the server ended or stopped answering, and how often it was given up.
    pub(crate) fn read(&self) -> (u64, u64) {
        (self.0.ended.load(Ordering::Relaxed), self.0.given_up.load(Ordering::Relaxed))
    }
}

impl ConnectionShared {
    /// Logs and counts a change of state that nobody ordered: the end of the server, and that it is given up.
    pub(super) fn note_end(&self, change: &LifecycleChange) {
        let (server, reason) = (&self.server, change.reason.as_deref().unwrap_or_default());
        let ends = &self.of_server.ends.0;
        let is_end = change.new_state == ServerState::Error || reason == ENDED_WELL;
        if change.previous_state == ServerState::Connected && is_end {
            ends.ended.fetch_add(1, Ordering::Relaxed);
            let how = match *self.exit.lock() {
                Some(status) => format!("the server ended with {status}"),
                None => reason.to_owned(),
            };
            let lines = self.of_server.log.last(TOLD_LINES);
            let stderr = (!lines.is_empty()).then(|| lines.join("\n"));
            tracing::warn!(%server, how, stderr, "a server ended by itself");
            *self.last_error.lock() = Some(self.attempt.lock().end(&how));
        }
        if change.new_state == ServerState::Error && reason == RestartSettings::LIMIT_EXCEEDED {
            ends.given_up.fetch_add(1, Ordering::Relaxed);
            let error = self.last_error.lock().clone().unwrap_or_default();
            tracing::warn!(
                %server,
                error,
                "a server is given up: it was restarted too often; run `mgp restart` with its name"
            );
        }
    }
}

/// The reason of a server that ended as it should.
const ENDED_WELL: &str = "the server ended";
/// The number of lines of its standard error that are logged when a server ends.
const TOLD_LINES: usize = 5;
