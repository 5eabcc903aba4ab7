//! The last known end of the record, kept beside it: a record that was cut or emptied ends before it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mgp_discovery::{AtomicFile, Config, FileReaders};
use mgp_security::audit::{AuditLog, Filter, LogHead, LogStore, Query};
use tokio::sync::watch;

/// The files in which ends of the record are kept. Clones use the same files.
#[derive(Debug, Clone)]
pub(crate) struct AuditLogEnds {
    /// The file with the last end, beside the record.
    beside: PathBuf,
    /// The file with all ends, which is only appended to.
    added_to: Option<PathBuf>,
    /// True if the record held the last end when it was opened. Else that is evidence, and nothing takes its place.
    are_held: bool,
}

impl AuditLogEnds {
    /// Opens the ends that are kept of `log`, and logs it if the record does not hold them.
    pub(crate) fn open(config: &Config, state: &Path, log: &AuditLog) -> Self {
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
    pub(crate) fn anew(config: &Config, state: &Path) -> Self {
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
    pub(crate) async fn keep(self, mut heads: watch::Receiver<LogHead>) {
        while heads.changed().await.is_ok() {
            let head = *heads.borrow_and_update();
            let ends = self.clone();
            // The end is written completely whatever becomes of this future.
            let _ = tokio::task::spawn_blocking(move || ends.note(head)).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Keeps this end.
    pub(crate) fn note(&self, head: LogHead) {
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

const PAUSE: Duration = Duration::from_secs(1);

/// The file in the state with the last end of the record.
pub(crate) const LAST_END: &str = "audit.end";

#[cfg(test)]
mod tests {
    use super::*;

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
