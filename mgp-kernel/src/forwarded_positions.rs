//! How far each server was told what is recorded, kept in the state: a kernel that starts again goes on from there.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_security::audit::{AuditLog, LogHead};
use mgp_types::mgp::ServerId;
use tokio::sync::watch;

use crate::audit_log_ends::holds;
use crate::state_folder::{read_json, write_json};

/// The last event of the record that each server was told.
#[derive(Debug)]
pub(crate) struct ForwardedPositions {
    file: PathBuf,
    known: watch::Sender<Positions>,
}

type Positions = BTreeMap<ServerId, LogHead>;

impl ForwardedPositions {
    /// Opens the positions that are kept in `state`.
    pub(crate) fn open(state: &Path) -> Self {
        let file = state.join("audit.forwarded");
        let known = read(&file).unwrap_or_else(|error| {
            tracing::error!(
                %error, file = %file.display(),
                "it is not known what servers were told of the record: they are told what comes from now on"
            );
            Positions::new()
        });
        Self { file, known: watch::Sender::new(known) }
    }

    /// Returns the number of the event behind which `server` is told on.
    ///
    /// A server that was told nothing yet is told what comes from now on. If the record is not the one of which the server
    /// was told, all of the record is new.
    pub(crate) async fn begin(&self, server: &ServerId, log: &AuditLog) -> u64 {
        let known = self.known.borrow().get(server).copied();
        let Some(known) = known else {
            self.note(server, log.head());
            return log.head().seq;
        };
        let (reader, now) = (log.reader(), log.head());
        let is_held = tokio::task::spawn_blocking(move || holds(&reader, now, &known)).await;
        if is_held.unwrap_or(true) { known.seq } else { 0 }
    }

    /// Returns the number of the last event that `server` was told; `None` if it was told nothing yet.
    pub(crate) fn position(&self, server: &ServerId) -> Option<u64> {
        self.known.borrow().get(server).map(|last| last.seq)
    }

    /// Notes the last event that `server` was told.
    pub(crate) fn note(&self, server: &ServerId, last: LogHead) {
        self.known.send_modify(|known| match known.get_mut(server) {
            Some(known) => *known = last,
            None => drop(known.insert(server.clone(), last)),
        });
    }

    /// Keeps each change, at most one a second, for as long as it is polled.
    pub(crate) fn keep(&self) -> impl Future<Output = ()> + use<> {
        let (file, mut known) = (self.file.clone(), self.known.subscribe());
        async move {
            while known.changed().await.is_ok() {
                let (file, positions) = (file.clone(), known.borrow_and_update().clone());
                // The file is written completely whatever becomes of this future.
                let _ = tokio::task::spawn_blocking(move || write(&file, &positions)).await;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Keeps what is known now.
    pub(crate) fn write(&self) {
        let known = self.known.borrow().clone();
        if !known.is_empty() {
            write(&self.file, &known);
        }
    }
}

fn read(file: &Path) -> io::Result<Positions> {
    Ok(read_json(file)?.unwrap_or_default())
}

fn write(file: &Path, known: &Positions) {
    if let Err(error) = write_json(file, known) {
        tracing::error!(%error, "what servers were told of the record cannot be kept: they may be told it again");
    }
}

const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use mgp_security::audit::LogStore;
    use mgp_types::mgp::{
        Actor, AuditEvent, AuditPort as _, AuditTarget, EventType, Outcome, Timestamp, TraceId,
    };

    use super::*;

    /// A log with as many events, which differ from those of a log with another type.
    async fn log(events: u8, kind: EventType) -> AuditLog {
        let log = AuditLog::open(LogStore::in_memory().unwrap()).unwrap();
        for _ in 0..events {
            record(&log, kind.clone()).await;
        }
        log
    }

    async fn record(log: &AuditLog, kind: EventType) {
        let (trace, target) = (TraceId::from_random([7; 16]), AuditTarget::new(None, None));
        let event = AuditEvent::new(Timestamp::EPOCH, trace, kind, Actor::kernel(), target, Outcome::Success);
        log.record(event).await.unwrap();
    }

    #[tokio::test]
    async fn a_server_is_told_on_from_where_it_was_and_a_new_one_from_now_on() {
        let state = tempfile::tempdir().unwrap();
        let (log, server) = (log(3, EventType::ServerConnected).await, ServerId::from("audit"));
        let positions = ForwardedPositions::open(state.path());
        assert_eq!(positions.begin(&server, &log).await, 3);
        positions.note(&server, log.head());
        positions.write();
        record(&log, EventType::ServerConnected).await;
        let again = ForwardedPositions::open(state.path());
        assert_eq!(again.begin(&server, &log).await, 3);
        assert_eq!(again.begin(&ServerId::from("other"), &log).await, 4);
    }

    #[tokio::test]
    async fn all_of_another_record_is_new() {
        let state = tempfile::tempdir().unwrap();
        let (old, server) = (log(3, EventType::ServerConnected).await, ServerId::from("audit"));
        let positions = ForwardedPositions::open(state.path());
        positions.note(&server, old.head());
        for events in [1, 5] {
            let another = log(events, EventType::AccessGranted).await;
            assert_eq!(positions.begin(&server, &another).await, 0, "{events}");
        }
    }

    #[test]
    fn a_file_that_says_nothing_is_no_obstacle() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join("audit.forwarded"), "{").unwrap();
        assert!(ForwardedPositions::open(state.path()).known.borrow().is_empty());
    }
}
