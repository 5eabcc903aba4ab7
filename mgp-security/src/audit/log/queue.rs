//! The state that the callers of the audit log share with its writer, above all the queue of records between them.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use mgp_types::Error;
use mgp_types::mgp::AuditEvent;
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, oneshot, watch};

use super::chain::LogHead;
use super::retention::Retention;

/// The state that the writer and the callers that record events share.
#[derive(Debug)]
pub(super) struct AuditLogState {
    pub(super) queue: Queue,
    /// The reason why nothing can be written now; empty while the log can be written.
    fault: ArcSwapOption<Error>,
    unrecorded: AtomicU64,
    refused: AtomicU64,
    pub(super) head: watch::Sender<LogHead>,
}

/// The number of events and calls that are missing in the log because it could not be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MissingEvents {
    /// The number of events that happened and are not recorded.
    pub(super) unrecorded: u64,
    /// The number of calls that were refused because the log could not be written.
    pub(super) refused: u64,
}

impl AuditLogState {
    pub(super) fn new(capacity: usize, head: LogHead) -> Self {
        Self {
            queue: Queue::new(capacity),
            fault: ArcSwapOption::empty(),
            unrecorded: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            head: watch::Sender::new(head),
        }
    }

    pub(super) fn fault(&self) -> Option<Error> {
        self.fault.load().as_deref().cloned()
    }

    /// Sets or clears the fault that keeps the log from being written, and returns whether there was none before.
    pub(super) fn set_fault(&self, fault: Option<Error>) -> bool {
        self.fault.swap(fault.map(Arc::new)).is_none()
    }

    pub(super) fn count_unrecorded(&self, events: usize) {
        self.unrecorded.fetch_add(events as u64, Ordering::Relaxed);
    }

    pub(super) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn missing(&self) -> MissingEvents {
        MissingEvents {
            unrecorded: self.unrecorded.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Subtracts the counts that an event in the log has reported.
    pub(super) fn subtract_reported(&self, missing: MissingEvents) {
        self.unrecorded.fetch_sub(missing.unrecorded, Ordering::Relaxed);
        self.refused.fetch_sub(missing.refused, Ordering::Relaxed);
    }
}

/// The queue of jobs for the writer, which takes all of them at once, so that batches grow as the medium gets slower.
/// Records that nobody waits for stay a moment for more to come: a transaction for each event would cost more than
/// the call that it reports.
///
/// The queue has a fixed number of places for records; a caller that finds none waits. Callers that cannot wait have
/// the same number of places in addition, and are refused beyond that.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<QueuedJobs>,
    wake: Condvar,
    room: Semaphore,
    capacity: usize,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct QueuedJobs {
    jobs: Vec<Job>,
    /// True if somebody waits for any of the jobs.
    urgent: bool,
    /// The number of jobs in the additional places for callers that cannot wait.
    crowding: usize,
}

/// A job for the writer.
#[derive(Debug)]
pub(super) enum Job {
    Record(RecordJob),
    Forget(Retention, oneshot::Sender<Result<u64, Error>>),
    Flush(oneshot::Sender<Result<(), Error>>),
}

impl QueuedJobs {
    fn may_linger(&self, enough: usize) -> bool {
        !self.urgent && (1..enough).contains(&self.jobs.len())
    }
}

impl Job {
    /// Returns whether somebody waits for the job.
    fn is_urgent(&self) -> bool {
        !matches!(self, Self::Record(RecordJob { waiter: None, .. }))
    }
}

/// Events to be written together, with the channel to the caller that waits for them.
#[derive(Debug)]
pub(super) struct RecordJob {
    pub(super) events: Vec<AuditEvent>,
    pub(super) waiter: Waiter,
    place: QueuePlace,
}

/// The channel to the caller that waits for a record, if there is one.
pub(super) type Waiter = Option<oneshot::Sender<Result<(), Error>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueuePlace {
    Own,
    Crowded,
}

impl Queue {
    pub(super) fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            waiting: Mutex::default(),
            wake: Condvar::new(),
            room: Semaphore::new(capacity),
            capacity,
            closed: AtomicBool::new(false),
        }
    }

    /// Queues a record if there is room, and returns it as the error if there is none.
    pub(super) fn try_record(
        &self,
        events: Vec<AuditEvent>,
        waiter: Waiter,
    ) -> Result<(), (Vec<AuditEvent>, Waiter)> {
        match self.room.try_acquire() {
            Ok(permit) => {
                permit.forget();
                self.push(Job::Record(RecordJob { events, waiter, place: QueuePlace::Own }));
                Ok(())
            }
            Err(_) => Err((events, waiter)),
        }
    }

    /// Waits until there is room for a record, which then has to be [queued](Self::record_in_room). Returns false if
    /// the queue was closed, so that there will never be room again.
    pub(super) async fn wait_for_room(&self) -> bool {
        self.room.acquire().await.map(tokio::sync::SemaphorePermit::forget).is_ok()
    }

    /// Queues a record in the room that [`wait_for_room`](Self::wait_for_room) obtained.
    pub(super) fn record_in_room(&self, events: Vec<AuditEvent>, waiter: Waiter) {
        self.push(Job::Record(RecordJob { events, waiter, place: QueuePlace::Own }));
    }

    /// Queues a record without waiting, and returns it as the error if the places for callers that cannot wait are
    /// taken as well.
    pub(super) fn record_crowding(&self, events: Vec<AuditEvent>) -> Result<(), Vec<AuditEvent>> {
        let Err((events, _)) = self.try_record(events, None) else { return Ok(()) };
        let mut waiting = self.waiting.lock();
        if self.is_closed() || waiting.crowding >= self.capacity {
            return Err(events);
        }
        waiting.crowding += 1;
        waiting.jobs.push(Job::Record(RecordJob { events, waiter: None, place: QueuePlace::Crowded }));
        self.wake.notify_one();
        Ok(())
    }

    /// Returns whether the places for callers that cannot wait are all taken.
    pub(super) fn is_overrun(&self) -> bool {
        // The room is checked first, so that usually no lock is taken.
        self.room.available_permits() == 0 && self.waiting.lock().crowding >= self.capacity
    }

    /// Queues a job. A job that comes after the queue was closed is dropped, of which its waiter is informed.
    pub(super) fn push(&self, job: Job) {
        let mut waiting = self.waiting.lock();
        if self.is_closed() {
            return;
        }
        let becomes_urgent = !waiting.urgent && job.is_urgent();
        waiting.urgent |= becomes_urgent;
        waiting.jobs.push(job);
        // The writer sleeps when there is nothing to do, and while nothing is urgent.
        if waiting.jobs.len() == 1 || becomes_urgent || waiting.jobs.len() == self.enough() {
            self.wake.notify_one();
        }
    }

    /// Returns the number of jobs at which the writer stops waiting for more, long before the room runs out.
    fn enough(&self) -> usize {
        (self.capacity / 2).clamp(1, ENOUGH)
    }

    /// Closes the queue to new jobs; the writer ends when it has done those that wait.
    pub(super) fn close(&self) {
        // The lock is held, because otherwise the writer could miss the change between its check and its sleep.
        let waiting = self.waiting.lock();
        self.closed.store(true, Ordering::Relaxed);
        self.wake.notify_one();
        self.room.close();
        drop(waiting);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Waits for jobs, at most for `patience`, and swaps them into `jobs`. Returns false when no more will come.
    pub(super) fn take(&self, jobs: &mut Vec<Job>, patience: Option<Duration>) -> bool {
        let mut waiting = self.waiting.lock();
        while waiting.jobs.is_empty() && !self.is_closed() {
            match patience {
                None => self.wake.wait(&mut waiting),
                Some(patience) => {
                    if self.wake.wait_for(&mut waiting, patience).timed_out() {
                        break;
                    }
                }
            }
        }
        while waiting.may_linger(self.enough()) && !self.is_closed() {
            if self.wake.wait_for(&mut waiting, LINGER).timed_out() {
                break;
            }
        }
        waiting.urgent = false;
        mem::swap(&mut waiting.jobs, jobs);
        !(self.is_closed() && jobs.is_empty())
    }

    /// Frees the places of records that have been written.
    pub(super) fn release(&self, records: &[RecordJob]) {
        let own = records.iter().filter(|record| record.place == QueuePlace::Own).count();
        let crowded = records.len() - own;
        if crowded > 0 {
            let mut waiting = self.waiting.lock();
            waiting.crowding = waiting.crowding.saturating_sub(crowded);
        }
        self.room.add_permits(own);
    }
}

/// The longest time that a record stays in the queue while nobody waits for it. A crash may lose that much, as
/// `Durability::Async` says; it is enough for a client that calls once a millisecond to fill a transaction.
const LINGER: Duration = Duration::from_millis(200);
/// The number of jobs at which the writer stops waiting for more, if the room is large.
const ENOUGH: usize = 256;
