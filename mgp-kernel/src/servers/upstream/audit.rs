//! The forwarding of the audit record to a server that negotiated it.

use std::sync::Arc;
use std::time::Duration;

use mgp_security::audit::{AuditLog, LogSubscription};
use mgp_types::mgp::{Extension, TrustLevel};
use mgp_types::{Origin, Session};
use tokio::sync::Mutex;

use super::connection_shared::ConnectionShared;
use crate::settings;

/// The place in the record up to which one server got it (§6.3). It is no queue, so a slow server holds up nobody, and
/// a server that comes back goes on where it was.
#[derive(Default)]
pub(super) struct AuditForwarding(Mutex<Option<LogSubscription>>);

impl AuditForwarding {
    /// Sends the record to the server of `session`, from its first connection on, for as long as this one lasts.
    async fn tell(&self, log: &AuditLog, session: &Session) {
        let mut place = self.0.lock().await;
        let subscription = place.get_or_insert_with(|| log.subscribe(log.head().seq));
        while let Err(error) = subscription.forward(session).await {
            if error.origin() == Origin::Connection {
                // The next incarnation goes on from here.
                return;
            }
            tracing::warn!(%error, "a server is not told what is recorded; it will be tried again");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Sends the record to the server if it negotiated that, and is trusted more than an unknown one: the record says what
/// every agent does with every server.
pub(super) async fn forward(shared: Arc<ConnectionShared>, session: Arc<Session>) {
    if !session.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Audit)) {
        return;
    }
    if settings::trust(&shared.config, Some(&session)) <= TrustLevel::Sandboxed {
        tracing::debug!(server = %shared.server, "a sandboxed server is not told what is recorded");
        return;
    }
    shared.audited.tell(&shared.support.audit.log, &session).await;
}

const PAUSE: Duration = Duration::from_secs(1);
