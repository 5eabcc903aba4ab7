//! The hash chain of the audit log, and the verification of a log against it.

use mgp_types::canonical::Digest;
use mgp_types::mgp::AuditEvent;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::entry::{EventFacets, LogEntry};
use super::reader::{Filter, Query};
use super::store::{Checkpoint, LogStore, PRUNED, Tail, damaged};
use crate::StoreError;

/// The head of a log: the number and the link of its last event. A copy kept elsewhere shows later whether the log
/// still holds what it held then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogHead {
    /// The number of the last event; 0 if there is none yet.
    pub seq: u64,
    /// The link of the last event.
    pub hash: Digest,
}

impl LogHead {
    /// Returns the head of a log whose last event has this number and link.
    pub const fn new(seq: u64, hash: Digest) -> Self {
        Self { seq, hash }
    }

    /// Returns the head of a log without events.
    pub(crate) fn start() -> Self {
        Self::new(0, digest(&[START]))
    }

    /// Returns the head of the log after `event` is added behind this one.
    pub fn link(&self, event: &[u8]) -> Self {
        let seq = self.seq.saturating_add(1);
        Self::new(seq, digest(&[self.hash.as_bytes(), &seq.to_be_bytes(), event]))
    }
}

fn digest(parts: &[&[u8]]) -> Digest {
    <[u8; 32]>::from(parts.iter().fold(Sha256::new(), Sha256::chain_update).finalize()).into()
}

/// The text whose digest is the link before the first event.
const START: &[u8] = b"mgp audit log 1";

/// The result for a log in which nothing was changed, as far as its chain can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedLog {
    /// The number of events in the log.
    pub events: u64,
    /// The head of the log, to be kept elsewhere.
    pub head: LogHead,
}

/// The reason why a log could not be verified.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The log is not as it was written.
    #[error("the audit log was changed at event {seq}: {flaw}")]
    Changed {
        /// The number of the first event where the change shows.
        seq: u64,
        /// The flaw at that event.
        flaw: LogFlaw,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A flaw in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogFlaw {
    /// The event or its link was changed, or the link was made with another key.
    #[error("its link does not fit its bytes")]
    Link,
    /// The event does not follow the event before it.
    #[error("it does not follow the event before it")]
    Order,
    /// Events are missing before this one.
    #[error("events before it are missing")]
    Missing,
    /// The values that the event is searched by differ from those in its bytes.
    #[error("it is found by something else than it says")]
    Facets,
    /// The log begins where no checkpoint says that it does, or no event reports the checkpoint.
    #[error("nothing tells of what was removed before it")]
    Checkpoint,
    /// The log ends before the noted end, or somewhere else.
    #[error("the end of the log is not the one that was noted")]
    End,
}

impl LogStore {
    /// Checks every event of the log against the chain, and the log against `known`, a list of heads that the log
    /// once had. A head that retention has since removed proves nothing.
    ///
    /// Events that are added meanwhile are left out.
    pub fn verify(&self, known: &[LogHead]) -> Result<VerifiedLog, VerifyError> {
        loop {
            let tail = self.tail()?;
            match self.verify_up_to(&tail, known) {
                // Retention has removed events meanwhile, so the rest has another beginning and is verified anew.
                Err(VerifyError::Changed { .. }) if self.tail()?.checkpoint != tail.checkpoint => {}
                verdict => return verdict,
            }
        }
    }

    pub(super) fn verify_up_to(&self, tail: &Tail, known: &[LogHead]) -> Result<VerifiedLog, VerifyError> {
        let end = tail.head.unwrap_or_else(LogHead::start);
        let checkpoint = tail.checkpoint.as_ref();
        let start = checkpoint.map_or_else(LogHead::start, |checkpoint| checkpoint.end);
        if let Some(beyond) = known.iter().find(|known| known.seq > end.seq) {
            return Err(changed(beyond.seq, LogFlaw::End));
        }
        let (mut at, mut events, mut is_announced) = (start, 0, checkpoint.is_none());
        check_known(known, &start)?;
        loop {
            let page = Query::after(Filter::default(), if events == 0 { 0 } else { at.seq }, PAGE);
            let entries = self.query(&page)?;
            let is_last = entries.last().is_none_or(|last| last.seq >= end.seq);
            for entry in entries.iter().take_while(|entry| entry.seq <= end.seq) {
                let event = check(&at, entry)?;
                is_announced |= checkpoint.is_some_and(|checkpoint| tells_of(&event, entry.seq, checkpoint));
                at = entry.head();
                check_known(known, &at)?;
                events += 1;
            }
            if is_last {
                break;
            }
        }
        if at != end {
            return Err(changed(at.seq.saturating_add(1), LogFlaw::End));
        }
        // If the head has moved, an entry behind the old head may have been added since, and cannot be told apart
        // from one that was put there; it counts as a change only if the head stayed.
        let behind = self.query(&Query::after(Filter::default(), end.seq, 1))?;
        let is_moved = self.tail()?.head != tail.head;
        match behind.first() {
            Some(entry) if !is_moved => Err(changed(entry.seq, LogFlaw::End)),
            _ if !is_announced => Err(changed(start.seq.saturating_add(1), LogFlaw::Checkpoint)),
            _ => Ok(VerifiedLog { events, head: end }),
        }
    }
}

/// Returns the head from which the log may be continued.
pub(super) fn end(tail: &Tail) -> Result<LogHead, StoreError> {
    match (&tail.head, &tail.last) {
        (None, None) if tail.checkpoint.is_none() => Ok(LogHead::start()),
        (Some(head), Some(last)) if *head == last.head() => {
            let before = LogHead::new(last.seq.saturating_sub(1), last.prev);
            check(&before, last).map_err(|_| damaged("the last audit event does not fit its link"))?;
            Ok(*head)
        }
        _ => Err(damaged(
            "the last audit event is not the one that was noted; keep the file and begin another",
        )),
    }
}

fn check(before: &LogHead, entry: &LogEntry) -> Result<AuditEvent, VerifyError> {
    let seq = entry.seq;
    if seq > before.seq.saturating_add(1) {
        return Err(changed(seq, LogFlaw::Missing));
    }
    if seq != before.seq.saturating_add(1) || entry.prev != before.hash {
        return Err(changed(seq, LogFlaw::Order));
    }
    if before.link(entry.event.as_bytes()).hash != entry.hash {
        return Err(changed(seq, LogFlaw::Link));
    }
    let event = entry.to_event().map_err(|_| changed(seq, LogFlaw::Link))?;
    if EventFacets::of(&event) == entry.facets { Ok(event) } else { Err(changed(seq, LogFlaw::Facets)) }
}

fn check_known(known: &[LogHead], at: &LogHead) -> Result<(), VerifyError> {
    let differs = |known: &LogHead| known.seq == at.seq && known.hash != at.hash;
    if known.iter().any(differs) { Err(changed(at.seq, LogFlaw::End)) } else { Ok(()) }
}

/// Returns whether an event of the chain reports the checkpoint: without one, anybody could have put the checkpoint
/// there.
fn tells_of(event: &AuditEvent, seq: u64, checkpoint: &Checkpoint) -> bool {
    let is = |name: &str, value: String| event.details.bytes(name) == Some(value.as_bytes());
    let hash = |digest: &Digest| format!("\"{digest}\"");
    seq == checkpoint.announced_by
        && event.event_type.as_str() == PRUNED
        && is("through_seq", checkpoint.end.seq.to_string())
        && is("through_hash", hash(&checkpoint.end.hash))
        && is("removed", checkpoint.removed.to_string())
}

const fn changed(seq: u64, flaw: LogFlaw) -> VerifyError {
    VerifyError::Changed { seq, flaw }
}

/// The number of events that are read at a time.
const PAGE: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_depends_on_the_one_before_the_number_and_the_bytes() {
        let start = LogHead::start();
        let link = start.link(b"{}");
        assert_eq!(link.seq, 1);
        assert_eq!(start.link(b"{}"), link);
        for other in [
            start.link(b"{ }"),
            LogHead::new(0, link.hash).link(b"{}"),
            LogHead::new(1, start.hash).link(b"{}"),
        ] {
            assert_ne!(other.hash, link.hash);
        }
    }
}
