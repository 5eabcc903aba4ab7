//! The thread that writes the audit log.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{AuditEvent, EventType, Outcome, ServerId, Timestamp, ToolName};
use mgp_types::{Error, Object, RawJson};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::chain::LogHead;
use super::entry::{EventFacets, LogEntry, own_event};
use super::is_act;
use super::open_calls::OpenCalls;
use super::queue::{AuditLogState, Job, MissingEvents, RecordJob};
use super::store::{Checkpoint, LogStore, Retention, pruned};
use crate::audit::clip::clip;
use crate::{Clock, StoreError};
use mgp_store::Reserve;

/// The one thread that writes a log: it takes all waiting records, writes them in one transaction, and wakes the
/// callers that wait for them.
///
/// If records with a waiting caller cannot be written, the caller gets an error and they are never written later,
/// because the caller has been told that it did not happen. Records without a waiting caller are kept until they can
/// be written.
#[derive(Debug)]
pub(super) struct LogWriter {
    pub(super) state: Arc<AuditLogState>,
    pub(super) store: LogStore,
    pub(super) clock: Clock,
    pub(super) head: LogHead,
    /// The time of the last event.
    pub(super) newest: Timestamp,
    /// Records without a waiting caller that could not be written yet.
    pub(super) kept: Vec<RecordJob>,
    pub(super) open_calls: Option<Arc<OpenCalls>>,
    /// The space for records on a full disk that say that an operator takes a right away.
    pub(super) reserve: Option<Reserve>,
    /// The time at which the program's log last told that nothing can be written.
    pub(super) reported_at: Instant,
}

impl LogWriter {
    /// Works until the queue is closed and empty.
    pub(super) fn run(mut self) {
        let mut jobs = Vec::new();
        loop {
            let is_spent = self.reserve.as_ref().is_some_and(Reserve::is_spent);
            let is_behind = is_spent || !self.kept.is_empty() || self.state.fault().is_some();
            if !self.state.queue.take(&mut jobs, is_behind.then_some(RETRY)) {
                break;
            }
            self.work(&mut jobs);
            self.reserve.iter().for_each(Reserve::recover);
        }
        self.commit(Vec::new());
        if !self.kept.is_empty() {
            tracing::error!(records = self.kept.len(), "the audit log ends without its last records");
        }
    }

    fn work(&mut self, jobs: &mut Vec<Job>) {
        let mut batch = Vec::new();
        let mut events = 0;
        for job in jobs.drain(..) {
            match job {
                Job::Record(record) => {
                    events += record.events.len();
                    batch.push(record);
                }
                Job::Forget { rule, through, done } => {
                    self.commit(mem::take(&mut batch));
                    let _ = done.send(self.forget(rule, through).map_err(Error::from));
                }
                Job::Flush(done) => {
                    self.commit(mem::take(&mut batch));
                    let _ = done.send(self.state.fault().map_or(Ok(()), Err));
                }
            }
            if events >= MAX_BATCH {
                self.commit(mem::take(&mut batch));
                events = 0;
            }
        }
        self.commit(batch);
    }

    /// Writes the kept records and then `new`, in one transaction.
    fn commit(&mut self, new: Vec<RecordJob>) {
        let mut batch = mem::take(&mut self.kept);
        batch.extend(new);
        let missing = *self.state.missing.lock();
        if batch.is_empty() && missing == MissingEvents::default() {
            return;
        }
        // What a revocation is just being given belongs to it alone.
        let reserve = self.reserve.clone();
        let turn = reserve.as_ref().filter(|reserve| reserve.is_spent()).map(Reserve::turn);
        // The log may have room where the notes of calls have none: both have to, or calls stay refused.
        let notes = self.open_calls.as_ref().filter(|_| missing.refused > 0);
        let room = notes.map_or(Ok(()), |calls| calls.check_room()).map_err(StoreError::from);
        let missing = if room.is_ok() { missing } else { MissingEvents::default() };
        let written = self.write(&mut batch, missing);
        drop(turn);
        match (written, room) {
            (Ok(()), Ok(())) => {
                if !self.state.set_fault(None) {
                    tracing::info!("the audit log can be written again");
                }
                finish(batch, &Ok(()));
            }
            (Ok(()), Err(error)) => {
                finish(batch, &Ok(()));
                self.fail(Vec::new(), error);
            }
            (Err(error), _) => self.fail(batch, error),
        }
    }

    /// Writes an event about what is `missing`, and then the records, in one transaction.
    fn write(&mut self, batch: &mut [RecordJob], missing: MissingEvents) -> Result<(), StoreError> {
        let (mut head, mut newest) = (self.head, self.newest);
        let mut entries = Vec::with_capacity(batch.len() + 1);
        if missing != MissingEvents::default() {
            let mut gap = [own_event(self.clock.now(), GAP, Outcome::Failure)
                .with_detail("unrecorded_events", &missing.unrecorded)
                .with_detail("refused_calls", &missing.refused)];
            continue_with(&mut gap, &mut head, &mut newest, &mut entries);
        }
        for record in &mut *batch {
            continue_with(&mut record.events, &mut head, &mut newest, &mut entries);
        }
        let is_new = !entries.is_empty();
        let appended = self.store.append(&entries);
        // A commit of entries that reports an error may have become durable all the same; it then counts as done.
        appended.or_else(|error| if is_new { self.durable(head, error) } else { Err(error) })?;
        (self.head, self.newest) = (head, newest);
        let mut reported = self.state.missing.lock();
        reported.unrecorded -= missing.unrecorded;
        reported.refused -= missing.refused;
        drop(reported);
        self.state.tell(head, entries);
        if let Some(calls) = &self.open_calls {
            calls.clear(batch.iter().flat_map(|record| &record.events).filter_map(|event| event.ends));
        }
        Ok(())
    }

    /// Writes the records that say that an operator takes a right away, with the space that is reserved for them. Returns
    /// the others, and all if that fails.
    fn write_urgent(&mut self, batch: Vec<RecordJob>) -> Vec<RecordJob> {
        let Some(reserve) = self.reserve.clone() else { return batch };
        let (mut urgent, mut others): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|record| record.events.iter().any(takes_away));
        if urgent.is_empty() {
            return others;
        }
        match reserve.spend(|| self.write(&mut urgent, MissingEvents::default())) {
            Ok(()) => finish(urgent, &Ok(())),
            Err(_) => others.append(&mut urgent),
        }
        others
    }

    /// Returns success if the store ends at `end` after all, or else `error`.
    fn durable(&self, end: LogHead, error: StoreError) -> Result<(), StoreError> {
        match self.store.tail() {
            Ok(tail) if tail.head == Some(end) => Ok(()),
            _ => Err(error),
        }
    }

    fn fail(&mut self, batch: Vec<RecordJob>, error: StoreError) {
        let batch = if matches!(error, StoreError::Full) { self.write_urgent(batch) } else { batch };
        if batch.is_empty() && *self.state.missing.lock() == MissingEvents::default() {
            return;
        }
        if self.state.fault().is_none() || self.reported_at.elapsed() >= BETWEEN_LINES {
            self.reported_at = Instant::now();
            let error: &(dyn std::error::Error + 'static) = &error;
            let refused = self.state.missing.lock().refused;
            tracing::error!(
                error,
                refused,
                "the audit log cannot be written; calls are refused until it can"
            );
        }
        let error = Error::from(error);
        self.state.set_fault(Some(error.clone()));
        let (awaited, kept): (Vec<_>, _) = batch.into_iter().partition(|record| record.waiter.is_some());
        self.kept = kept;
        self.state.count_unrecorded(awaited.iter().map(|record| record.events.len()).sum());
        finish(awaited, &Err(error));
    }

    /// Removes a bounded number of the oldest entries up to `through` that `rule` does not keep, and returns their number.
    fn forget(&mut self, rule: Retention, through: u64) -> Result<u64, StoreError> {
        let now = self.clock.now();
        // The age is measured from the clock or from the last event, whichever is earlier: a clock that is ahead must not
        // empty the log.
        let beyond = self.store.beyond(rule, now.min(self.newest), through, MAX_FORGOTTEN)?;
        let Some((end, removed)) = beyond else { return Ok(0) };
        let mut note = [pruned(now, &end, removed, rule.reason())];
        let (mut head, mut newest, mut entries) = (self.head, self.newest, Vec::new());
        continue_with(&mut note, &mut head, &mut newest, &mut entries);
        let Some(note) = entries.pop() else { return Ok(0) };
        let checkpoint =
            Checkpoint { end, removed, reason: rule.reason().to_owned(), announced_by: note.seq };
        self.store.forget(&checkpoint, &note).or_else(|error| self.durable(head, error))?;
        (self.head, self.newest) = (head, newest);
        self.state.tell(head, vec![note]);
        Ok(removed)
    }
}

/// Returns whether an event says that an operator takes a right away, or gave the operator passphrase, which comes before.
fn takes_away(event: &AuditEvent) -> bool {
    let is_taken = match &event.event_type {
        EventType::AccessRevoked | EventType::PermissionRevoked | EventType::PermissionDenied => true,
        EventType::AccessGranted => event.details.text("permission").as_deref() == Some("deny"),
        kind => [KEY_REVOKED, PROVED].contains(&kind.as_str()),
    };
    is_taken && is_act(event)
}

/// The type of the event that reports that an operator revoked an API key.
const KEY_REVOKED: &str = "dev.cloto.mgp.key_revoked";

/// The type of the event that reports that an operator gave the passphrase.
const PROVED: &str = "dev.cloto.mgp.operator_proved";

/// Tells the callers that wait for records how these ended, and frees the places of the records.
fn finish(records: Vec<RecordJob>, outcome: &Result<(), Error>) {
    for waiter in records.into_iter().filter_map(|record| record.waiter) {
        let _ = waiter.send(outcome.clone());
    }
}

/// Makes entries of `events`, behind `head`.
fn continue_with(
    events: &mut [AuditEvent],
    head: &mut LogHead,
    newest: &mut Timestamp,
    entries: &mut Vec<LogEntry>,
) {
    for event in events {
        let behind = newest.since(event.timestamp);
        *newest = if behind > TOLERANCE { event.timestamp } else { event.timestamp.max(*newest) };
        // The order is that of the numbers. The time of the clock is kept, with a note that it is behind.
        if behind > TOLERANCE
            && let Ok(behind) = RawJson::from_value(&behind.as_millis())
        {
            event.details.set("clock_behind_ms", behind);
        }
        if let Some(json) = encode(event) {
            entries.push(LogEntry::behind(head, json, EventFacets::of(event)));
        }
    }
}

impl Drop for LogWriter {
    /// Refuses further records, so that no caller waits for ever, whatever ended the writer.
    fn drop(&mut self) {
        self.state.set_fault(Some(closed()));
        self.state.queue.close();
        let mut left = Vec::new();
        self.state.queue.take(&mut left, None);
    }
}

/// Waits for the writer's answer, and returns an error if the writer is gone.
pub(super) async fn answer<T>(done: oneshot::Receiver<Result<T, Error>>) -> Result<T, Error> {
    done.await.unwrap_or_else(|_| Err(closed()))
}

pub(super) fn closed() -> Error {
    Error::internal("the record cannot be kept: the log is closed")
}

/// The type of the event that reports which events are missing because the log could not be written.
pub const GAP: &str = "dev.cloto.mgp.audit_gap";

/// The type of the event that reports that the process which wrote the log before did not end in order. Its details
/// name the calls that were in work and may not be recorded.
pub const KERNEL_LOST: &str = "dev.cloto.mgp.kernel_lost";

/// Returns the events about a process that was lost with `calls` in work.
pub(super) fn kernel_lost(now: Timestamp, calls: &[RawJson]) -> Vec<AuditEvent> {
    let event =
        |lost: &[RawJson]| own_event(now, KERNEL_LOST, Outcome::Failure).with_detail("calls_in_work", lost);
    if calls.is_empty() { vec![event(calls)] } else { calls.chunks(MAX_LOST).map(event).collect() }
}

/// The number of lost calls that one event names.
const MAX_LOST: usize = 50;

/// The approximate number of events at which a batch is written: enough to make the cost of a commit small, and few
/// enough that nobody waits long behind them.
const MAX_BATCH: usize = 2_048;

/// The largest number of entries that are removed in one step, for the same reason as `MAX_BATCH`.
pub(super) const MAX_FORGOTTEN: u64 = 10_000;

/// The time after which it is told once more that nothing can be written.
const BETWEEN_LINES: Duration = Duration::from_mins(1);

/// The time after which writing is tried again when the log could not be written.
const RETRY: Duration = Duration::from_millis(200);

/// The difference up to which an event may be dated before its predecessor. Records of calls that end together come
/// in any order; a clock that was set back differs by more.
const TOLERANCE: Duration = Duration::from_secs(1);

/// Returns the event as JSON, after it was cut if it is too long; `None` if it cannot be written.
fn encode(event: &mut AuditEvent) -> Option<RawJson> {
    let json = RawJson::from_value(event).ok()?;
    let size = json.as_bytes().len();
    if size <= MAX_EVENT_BYTES {
        return Some(json);
    }
    let short = |name: &str| clip(name, MAX_CUT_NAME_BYTES).into_owned();
    event.details = Object::new();
    if let Ok(size) = RawJson::from_value(&size) {
        event.details.set("cut_from_bytes", size);
    }
    event.actor.id = short(&event.actor.id);
    if let EventType::Custom(name) = &event.event_type {
        event.event_type = EventType::Custom(short(name).into());
    }
    let target = &mut event.target;
    target.server_id = target.server_id.take().map(|id| ServerId::new(&*short(id.as_str())));
    target.tool_name = target.tool_name.take().map(|name| ToolName::new(&*short(name.as_str())));
    target.arguments.clear();
    RawJson::from_value(event).ok()
}

/// The size of an event in bytes beyond which it loses its details.
const MAX_EVENT_BYTES: usize = 64 * 1024;

/// The length in bytes to which the names in such an event are cut.
const MAX_CUT_NAME_BYTES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::sample;

    #[test]
    fn an_event_of_any_size_is_written_in_bounds() {
        let long = "\u{1F980}".repeat(100_000);
        let mut event = sample::event(1).with_detail("arguments", &long);
        event.actor.id.clone_from(&long);
        event.event_type = EventType::Custom(long.as_str().into());
        event.target.tool_name = Some(ToolName::new(long.as_str()));
        let json = encode(&mut event).unwrap();
        assert!(json.as_bytes().len() < 4_096);
        let read: AuditEvent = json.to().unwrap();
        assert!(read.details.contains("cut_from_bytes"));
        assert_eq!(read.trace_id, event.trace_id);
    }
}
