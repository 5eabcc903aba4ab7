//! The queue of records between the callers of the audit log and its writer.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mgp_types::Error;
use mgp_types::mgp::AuditEvent;
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, oneshot};

use super::retention::Retention;

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
