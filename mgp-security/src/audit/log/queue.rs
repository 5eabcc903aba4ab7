use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mgp_types::Error;
use mgp_types::mgp::AuditEvent;
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, oneshot};

use super::retention::Retention;

/// What waits for the writer. The writer takes all of it at once, so a batch is as large as the medium is slow. What nobody
/// waits for lies a moment for more to come: a transaction for each event costs more than the call that it tells of.
///
/// It is bounded by the room it began with: who finds none waits. What comes from those who cannot wait has as much room
/// again, and beyond that is refused.
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
    /// Whether somebody waits for any of them.
    urgent: bool,
    /// How many of the jobs have no room of their own.
    crowding: usize,
}

/// Something for the writer to do.
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
    /// Whether somebody waits for it.
    fn is_urgent(&self) -> bool {
        !matches!(self, Self::Record(RecordJob { waiter: None, .. }))
    }
}

/// Events to be written together, and who waits for it.
#[derive(Debug)]
pub(super) struct RecordJob {
    pub(super) events: Vec<AuditEvent>,
    pub(super) waiter: Waiter,
    place: QueuePlace,
}

/// Who waits for a record, if anybody does.
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

    /// Puts a record in if there is room, and gives it back if there is not.
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

    /// Waits until there is room for a record, which then has to be [put in](Self::record_in_room). False when there
    /// will be none any more.
    pub(super) async fn wait_for_room(&self) -> bool {
        self.room.acquire().await.map(tokio::sync::SemaphorePermit::forget).is_ok()
    }

    /// Puts a record into the room that was waited for.
    pub(super) fn record_in_room(&self, events: Vec<AuditEvent>, waiter: Waiter) {
        self.push(Job::Record(RecordJob { events, waiter, place: QueuePlace::Own }));
    }

    /// Puts a record in without waiting; gives it back if even those who cannot wait have no room.
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

    /// Whether those who cannot wait have no room any more.
    pub(super) fn is_overrun(&self) -> bool {
        // Looking at the room first keeps the lock out of the usual case.
        self.room.available_permits() == 0 && self.waiting.lock().crowding >= self.capacity
    }

    /// Puts a job in. One that comes when the writer is gone is dropped, which its waiter learns of.
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

    /// With so many jobs the writer waits for no more, long before there is no room.
    fn enough(&self) -> usize {
        (self.capacity / 2).clamp(1, ENOUGH)
    }

    /// No more will come; the writer ends when it has done what waits.
    pub(super) fn close(&self) {
        // Within the lock, or the writer could miss it between its look and its sleep.
        let waiting = self.waiting.lock();
        self.closed.store(true, Ordering::Relaxed);
        self.wake.notify_one();
        self.room.close();
        drop(waiting);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Waits for something to do, at most for `patience`, and swaps it into `jobs`. False when no more will come.
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

    /// Gives the room of records back.
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

/// How long what nobody waits for lies at most. It is what a crash may cost, as `Durability::Async` says, and enough for
/// a client that calls once a millisecond to fill a transaction.
const LINGER: Duration = Duration::from_millis(200);
const ENOUGH: usize = 256;
