//! The positions in the record that are kept beside it: its last known end, for a record that was cut or emptied ends before it;
//! and how far each server was told what is recorded, for a kernel that starts again goes on from there.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_discovery::{AtomicFile, Config, FileReaders};
use mgp_security::audit::{AuditLog, Filter, LogHead, LogStore, Query};
use mgp_types::mgp::ServerId;
use tokio::sync::watch;

use crate::state::folder::{read_json, write_json};

/// The files in which ends of the record are kept. Clones use the same files.
#[derive(Debug, Clone)]
pub struct AuditLogEnds {
    /// The file with the last end, beside the record.
    beside: PathBuf,
    /// The file with all ends, which is only appended to.
    added_to: Option<PathBuf>,
    /// True if the record held the last end when it was opened. Else that is evidence, and nothing takes its place.
    are_held: bool,
}

impl AuditLogEnds {
    /// Opens the ends that are kept of `log`, and logs it if the record does not hold them.
    pub fn open(config: &Config, state: &Path, log: &AuditLog) -> Self {
        let mut ends = Self::anew(config, state);
        let reader = log.reader();
        let lost = ends.known().into_iter().find(|known| !holds(&reader, log.head(), known));
        if let Some(lost) = lost {
            ends.are_held = false;
            let (known, now) = (lost.seq, log.head().seq);
            tracing::error!(
                known,
                now,
                kept = %ends.beside.display(),
                "the record was cut or replaced: its last known event is not in it; `mgp audit verify` says more"
            );
        }
        ends
    }

    /// Returns the ends of a record that takes the place of another one, whatever ends that had.
    pub fn anew(config: &Config, state: &Path) -> Self {
        let added_to = config.audit.ends.as_ref().map(PathBuf::from);
        Self { beside: state.join(LAST_END), added_to, are_held: true }
    }

    /// Returns the ends that the record had.
    pub(crate) fn known(&self) -> Vec<LogHead> {
        let files = [Some(&self.beside), self.added_to.as_ref()];
        let mut known: Vec<LogHead> = files.into_iter().flatten().filter_map(|file| last_end(file)).collect();
        known.dedup();
        known
    }

    /// Keeps each end of the record, at most one a second, for as long as it is polled.
    pub(crate) async fn keep(self, heads: watch::Receiver<LogHead>) {
        keep_each(heads, move |head| self.note(head)).await;
    }

    /// Keeps this end.
    pub fn note(&self, head: LogHead) {
        if !self.are_held || head.seq == 0 {
            return;
        }
        let line = format!("{} {}\n", head.seq, head.hash);
        let kept = AtomicFile::put(&self.beside, &line, FileReaders::Owner);
        let added = self.added_to.as_ref().map_or(Ok(()), |file| add(file, &line));
        for error in [kept, added].into_iter().filter_map(Result::err) {
            tracing::error!(%error, "the end of the record cannot be kept");
        }
    }
}

/// Returns whether the record still holds this end. An end that retention has removed since proves nothing.
pub(crate) fn holds(reader: &LogStore, now: LogHead, known: &LogHead) -> bool {
    if known.seq > now.seq {
        return false;
    }
    let found = reader.query(&Query::after(Filter::default(), known.seq.saturating_sub(1), 1));
    // The reader of the record reports what cannot be read.
    found
        .is_ok_and(|found| found.first().is_none_or(|entry| entry.seq != known.seq || entry.head() == *known))
}

/// Returns the end in the last whole line of a file.
fn last_end(file: &Path) -> Option<LogHead> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().rev().find_map(|line| {
        let (seq, hash) = line.split_once(' ')?;
        Some(LogHead::new(seq.parse().ok()?, hash.parse().ok()?))
    })
}

fn add(file: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// The file in the state with the last end of the record.
pub const LAST_END: &str = "audit.end";

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
        let known: Option<Positions> = read_json(&file).unwrap_or_else(|error| {
            tracing::error!(
                %error, file = %file.display(),
                "it is not known what servers were told of the record: they are told what comes from now on"
            );
            None
        });
        Self { file, known: watch::Sender::new(known.unwrap_or_default()) }
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
        let file = self.file.clone();
        keep_each(self.known.subscribe(), move |known| write(&file, &known))
    }

    /// Keeps what is known now.
    pub(crate) fn write(&self) {
        let known = self.known.borrow().clone();
        if !known.is_empty() {
            write(&self.file, &known);
        }
    }
}

fn write(file: &Path, known: &Positions) {
    if let Err(error) = write_json(file, known) {
        tracing::error!(%error, "what servers were told of the record cannot be kept: they may be told it again");
    }
}

/// Keeps each value that comes, at most one a second.
async fn keep_each<T: Clone + Send + 'static>(
    mut values: watch::Receiver<T>,
    keep: impl Fn(T) + Clone + Send + 'static,
) {
    while values.changed().await.is_ok() {
        let (value, keep) = (values.borrow_and_update().clone(), keep.clone());
        // A file is written completely whatever becomes of this future.
        let _ = tokio::task::spawn_blocking(move || keep(value)).await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// The time between two positions that are kept.
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
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

    #[test]
    fn the_end_of_a_log_is_read_as_it_is_written() {
        let end = LogHead::new(7, [0xab; 32].into());
        let written = serde_json::to_string(&end).unwrap();
        assert_eq!(serde_json::from_str::<LogHead>(&written).unwrap(), end);
        for hash in ["", "ab", &"zz".repeat(32), &"é".repeat(32)] {
            assert!(
                serde_json::from_value::<LogHead>(serde_json::json!({"seq": 7, "hash": hash})).is_err(),
                "{hash}"
            );
        }
    }
}
