//! The forwarding of the audit record to a server that negotiated it.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{Extension, TrustLevel};
use mgp_types::{Error, Origin, Session};
use tokio::sync::Mutex;

use super::connection_key::ConnectionKey;
use super::connection_shared::ConnectionShared;
use crate::record::AuditTrail;

/// The number of the last event that was sent on one connection (§6.3). It is no queue, so a slow server holds up nobody,
/// and a server that comes back goes on where it was.
#[derive(Default)]
pub(super) struct AuditForwarding(Mutex<Option<u64>>);

impl AuditForwarding {
    /// Sends the record to the server of `session` for as long as this lasts: from where the server was, or from its first
    /// connection on.
    async fn tell(&self, audit: &AuditTrail, key: &ConnectionKey, session: &Session) {
        let mut place = self.0.lock().await;
        let position = match &mut *place {
            Some(position) => position,
            none => none.insert(begin(audit, key).await),
        };
        while let Err(error) = send(audit, key, session, position).await {
            if error.origin() == Origin::Connection {
                // The next incarnation goes on from here.
                return;
            }
            tracing::warn!(%error, "a server is not told what is recorded; it will be tried again");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Returns the number of the event behind which a new connection begins.
async fn begin(audit: &AuditTrail, key: &ConnectionKey) -> u64 {
    match &key.agent {
        None => audit.forwarded.begin(&key.server, &audit.log).await,
        // Behind the connection of an agent is a process of its own, each time another.
        Some(_) => audit.log.head().seq,
    }
}

/// Sends the events behind `position`, and moves it on, until the log is closed.
async fn send(
    audit: &AuditTrail,
    key: &ConnectionKey,
    session: &Session,
    position: &mut u64,
) -> Result<(), Error> {
    let mut events = audit.log.subscribe(*position);
    while let Some(entries) = events.next().await? {
        for entry in entries {
            session.outbox.notify(entry.to_notification()).await?;
            *position = entry.seq;
            if key.agent.is_none() {
                audit.forwarded.note(&key.server, entry.head());
            }
        }
    }
    Ok(())
}

/// Sends the record to the server if it negotiated that, and is trusted more than an unknown one: the record says what
/// every agent does with every server.
pub(super) async fn forward(shared: Arc<ConnectionShared>, session: Arc<Session>) {
    if !session.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Audit)) {
        return;
    }
    if shared.config.trust() <= TrustLevel::Sandboxed {
        tracing::debug!(server = %shared.server, "a sandboxed server is not told what is recorded");
        return;
    }
    shared.audited.tell(&shared.support.audit, &shared.line, &session).await;
}

const PAUSE: Duration = Duration::from_secs(1);
