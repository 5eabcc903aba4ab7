//! The forwarding of the audit record to a server that negotiated it.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_security::audit::LogEntry;
use mgp_types::mgp::{Extension, TrustLevel};
use mgp_types::{Error, Origin, RpcService, Session};
use tokio::sync::{Mutex, MutexGuard};

use super::connection_key::ConnectionKey;
use super::connection_shared::ConnectionShared;
use super::support::ServerClient;
use crate::record::AuditTrail;
use crate::settings;

/// The number of the last event that the server has read on one connection (§6.3). It is no queue, so a slow server holds
/// up nobody, and a server that comes back goes on where it was.
#[derive(Default)]
pub(super) struct AuditForwarding {
    position: Mutex<Option<u64>>,
    /// Locked while the server was sent events that it may not have read.
    unread: Mutex<()>,
}

impl AuditForwarding {
    /// Waits until the server has read what it was sent, and sends nothing more while the result lives: a server that is
    /// stopped then is told nothing twice once it starts again. `None` if that took longer than `at_most`.
    pub(super) async fn hold_back(&self, at_most: Duration) -> Option<MutexGuard<'_, ()>> {
        tokio::time::timeout(at_most, self.unread.lock()).await.ok()
    }

    /// Sends the record to the server of `session` for as long as this lasts: from where the server was, or from its first
    /// connection on. An event that the server may not have read is sent again, so a server may get one twice.
    async fn tell(
        &self,
        audit: &AuditTrail,
        key: &ConnectionKey,
        client: &Client<impl RpcService>,
        session: &Session,
    ) {
        let mut place = self.position.lock().await;
        let position = match &mut *place {
            Some(position) => position,
            // Behind a connection of somebody's own is a process of its own, each time another.
            none if key.is_own() => none.insert(audit.log.head().seq),
            none => none.insert(audit.forwarded.begin(&key.server, &audit.log).await),
        };
        while let Err(error) = self.send(audit, key, client, session, position).await {
            if error.origin() == Origin::Connection {
                // The next incarnation goes on from here.
                return;
            }
            tracing::warn!(%error, "a server is not told what is recorded; it will be tried again");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends the events behind `position` until the log is closed. The position moves on once the server has read what was sent.
    async fn send(
        &self,
        audit: &AuditTrail,
        key: &ConnectionKey,
        client: &Client<impl RpcService>,
        session: &Session,
        position: &mut u64,
    ) -> Result<(), Error> {
        let mut events = audit.log.subscribe(*position);
        while let Some(entries) = events.next().await? {
            let Some(last) = entries.last().map(LogEntry::head) else { continue };
            let _unread = self.unread.lock().await;
            for entry in entries {
                session.outbox.notify(entry.to_notification()).await?;
            }
            has_read(client).await?;
            *position = last.seq;
            if !key.is_own() {
                audit.forwarded.note(&key.server, last);
            }
        }
        Ok(())
    }
}

/// Waits until the server has read what was sent to it: a server reads in order, so one that answers has.
async fn has_read(client: &Client<impl RpcService>) -> Result<(), Error> {
    match tokio::time::timeout(PATIENCE, client.ping()).await {
        Ok(Err(error)) if error.origin() == Origin::Connection => Err(error),
        // A server that refuses the question, or is never done with it, is not sent the same events for ever.
        _ => Ok(()),
    }
}

/// Sends the record to the server if it negotiated that, and is trusted more than an unknown one: the record says what
/// every agent does with every server.
pub(super) async fn forward(shared: Arc<ConnectionShared>, client: ServerClient, session: Arc<Session>) {
    if !session.has(&Extension::Audit) {
        return;
    }
    if settings::trust(&shared.config, Some(&session)) <= TrustLevel::Sandboxed {
        tracing::debug!(server = %shared.server, "a sandboxed server is not told what is recorded");
        return;
    }
    shared.state.audited.tell(&shared.support.audit, &shared.key, &client, &session).await;
}

const PAUSE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use mgp_discovery::Config;
    use mgp_types::mgp::{
        Actor, AuditEvent, AuditPort as _, AuditTarget, EventType, Offer, Outcome, Timestamp, TraceId,
    };
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::sync::{mpsc, watch};

    use super::*;

    /// A record with one event behind which a server is told on.
    async fn record(state: &std::path::Path) -> (Arc<AuditTrail>, ConnectionKey) {
        let audit = Arc::new(AuditTrail::open(&Config::default(), state).unwrap());
        let key = ConnectionKey::from("record");
        audit.forwarded.note(&key.server, audit.log.head());
        record_one(&audit).await;
        (audit, key)
    }

    async fn record_one(audit: &AuditTrail) {
        let (trace, target) = (TraceId::from_random([1; 16]), AuditTarget::new(None, None));
        let (kind, outcome) = (EventType::ServerConnected, Outcome::Success);
        let event = AuditEvent::new(Timestamp::EPOCH, trace, kind, Actor::kernel(), target, outcome);
        audit.log.record(event).await.unwrap();
        audit.log.flush().await.unwrap();
    }

    /// What a server does once it was told of an event.
    enum Then {
        Dies,
        GoesOn,
        /// Answers nothing before this says so.
        Waits(watch::Receiver<bool>),
    }

    /// Tells a server of the record for as long as it lives, and returns the number of each event that it has read.
    fn tell(
        audit: &Arc<AuditTrail>,
        key: &ConnectionKey,
        mut then: Then,
    ) -> (Arc<AuditForwarding>, mpsc::UnboundedReceiver<Value>) {
        let (sender, heard) = mpsc::unbounded_channel();
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let (input, mut output) = tokio::io::split(far);
            let mut lines = BufReader::new(input).lines();
            while let Some(line) = lines.next_line().await.unwrap() {
                let message: Value = serde_json::from_str(&line).unwrap();
                if message["method"] == "notifications/mgp.audit" {
                    sender.send(message["params"]["_mgp"]["seq"].clone()).unwrap();
                    match &mut then {
                        Then::Dies => return,
                        Then::GoesOn => {}
                        Then::Waits(until) => drop(until.wait_for(|answers| *answers).await.unwrap()),
                    }
                }
                let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
                match message["method"].as_str() {
                    _ if message["id"].is_null() => continue,
                    Some("initialize") => {
                        answer["result"] = json!({
                            "protocolVersion": "2025-11-25", "serverInfo": {"name": "record", "version": "1"},
                            "capabilities": {"mgp": {"version": "0.6.0", "extensions": ["audit"]}},
                        });
                    }
                    Some("ping") => answer["result"] = json!({}),
                    _ => answer["error"] = json!({"code": -32601, "message": "no"}),
                }
                output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
        });
        let (audit, key) = (Arc::clone(audit), key.clone());
        let forwarding = Arc::<AuditForwarding>::default();
        let telling = Arc::clone(&forwarding);
        tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(near);
            let builder = Client::builder("kernel", "1.0.0").mgp(Offer::new(Extension::Audit));
            let client = builder.connect_io(reader, writer).await.unwrap();
            let session = client.session().unwrap();
            telling.tell(&audit, &key, &client, &session).await;
        });
        (forwarding, heard)
    }

    // covers: P-4-19
    #[tokio::test]
    async fn an_event_that_was_not_read_for_sure_is_told_again_and_then_no_more() {
        let state = tempfile::tempdir().unwrap();
        let (audit, key) = record(state.path()).await;
        for then in [Then::Dies, Then::Dies, Then::GoesOn] {
            let dies = matches!(then, Then::Dies);
            let (_, mut heard) = tell(&audit, &key, then);
            assert_eq!(heard.recv().await, Some(json!(1)));
            if dies {
                assert_eq!(heard.recv().await, None);
            }
        }
        let end = tokio::time::Instant::now() + Duration::from_secs(30);
        while audit.forwarded.begin(&key.server, &audit.log).await < 1 {
            assert!(tokio::time::Instant::now() < end, "the event is not known to have been read");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_server_that_is_stopped_has_read_what_it_was_told_and_is_told_no_more() {
        let state = tempfile::tempdir().unwrap();
        let (audit, key) = record(state.path()).await;
        let (answer, until) = watch::channel(false);
        let (forwarding, mut heard) = tell(&audit, &key, Then::Waits(until));
        assert_eq!(heard.recv().await, Some(json!(1)));
        assert!(forwarding.hold_back(Duration::ZERO).await.is_none(), "the event may not have been read");

        answer.send(true).unwrap();
        let held = forwarding.hold_back(Duration::from_secs(30)).await;
        assert_eq!(
            audit.forwarded.begin(&key.server, &audit.log).await,
            1,
            "the next start begins behind it"
        );
        record_one(&audit).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(heard.is_empty(), "a server that stops was told of one more");
        drop(held);
        assert_eq!(heard.recv().await, Some(json!(2)));
    }
}
