//! The state that the callers of the audit log share with its writer, above all the queue of records between them.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use mgp_types::Error;
use mgp_types::mgp::AuditEvent;
use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use super::chain::LogHead;
use super::entry::LogEntry;
use super::recent::{MAX_BYTES, RecentEntries};
use super::store::Retention;

/// The state that the writer and the callers that record events share.
#[derive(Debug)]
pub(super) struct AuditLogState {
    pub(super) queue: Queue,
    /// The reason why nothing can be written now; empty while the log can be written.
    fault: ArcSwapOption<Error>,
    pub(super) missing: Mutex<MissingEvents>,
    pub(super) head: watch::Sender<LogHead>,
    /// The newest entries, which each subscription shares, and which are kept while there is one.
    pub(super) recent: Arc<RecentEntries>,
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
            missing: Mutex::default(),
            head: watch::Sender::new(head),
            recent: Arc::default(),
        }
    }

    pub(super) fn fault(&self) -> Option<Error> {
        self.fault.load().as_deref().cloned()
    }

    /// Sets or clears the fault that keeps the log from being written, and returns whether there was none before.
    pub(super) fn set_fault(&self, fault: Option<Error>) -> bool {
        self.fault.swap(fault.map(Arc::new)).is_none()
    }

    /// Sets `full` as the fault after a call found no room for its note, has the writer look when there is some, and returns it.
    pub(super) fn set_full(&self, full: Error) -> Error {
        if self.set_fault(Some(full.clone())) {
            self.queue.push(Job::Flush(oneshot::channel().0));
        }
        full
    }

    /// Tells the subscriptions that `entries`, which end at `head`, are durable.
    pub(super) fn tell(&self, head: LogHead, entries: Vec<LogEntry>) {
        let is_followed = Arc::strong_count(&self.recent) > 1;
        // A subscription that is told of the head looks for its entries in memory.
        self.recent.add(entries, if is_followed { MAX_BYTES } else { 0 });
        self.head.send_replace(head);
    }

    pub(super) fn count_unrecorded(&self, events: usize) {
        self.missing.lock().unrecorded += events as u64;
    }
}

/// The queue of jobs for the writer, which takes all of them at once, so that batches grow as the medium gets slower.
/// Records that nobody waits for stay a moment for more to come: a transaction for each event would cost more than
/// the call that it reports.
///
/// The queue has a fixed number of places for records; a caller that finds none waits. Callers that cannot wait have
/// the same number of places in addition, and are refused beyond that. Of the places for records that end no call, such as
/// what servers do unasked, one source has a share, so that its flood never keeps the calls of others out.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<QueuedJobs>,
    wake: Condvar,
    /// The places for records; closed when the queue is.
    room: Arc<Semaphore>,
    /// The additional places for callers that cannot wait.
    extra: Arc<Semaphore>,
    /// The shares of the sources that hold a place of theirs.
    shares: Mutex<HashMap<Box<str>, Arc<Semaphore>>>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct QueuedJobs {
    jobs: Vec<Job>,
    /// True if somebody waits for any of the jobs.
    urgent: bool,
    /// The number of jobs at which the writer, if it waits for more, goes on.
    awaited: usize,
    /// The number of jobs that the writer took last, if somebody waited for them.
    answered: usize,
}

/// A job for the writer.
#[derive(Debug)]
pub(super) enum Job {
    Record(RecordJob),
    Forget {
        rule: Retention,
        /// The number of the last event that may be removed.
        through: u64,
        done: oneshot::Sender<Result<u64, Error>>,
    },
    Flush(oneshot::Sender<Result<(), Error>>),
}

/// Events to be written together, with the channel to the caller that waits for them.
#[derive(Debug)]
pub(super) struct RecordJob {
    pub(super) events: Vec<AuditEvent>,
    pub(super) waiter: Waiter,
    /// The place of the record, which is free again once the record is dropped.
    _place: QueuePlace,
}

/// A place for a record in the queue, and one of the share of its source.
pub(super) type QueuePlace = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

/// The channel to the caller that waits for a record, if there is one.
pub(super) type Waiter = Option<oneshot::Sender<Result<(), Error>>>;

impl Queue {
    pub(super) fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            waiting: Mutex::default(),
            wake: Condvar::new(),
            room: Arc::new(Semaphore::new(capacity)),
            extra: Arc::new(Semaphore::new(capacity)),
            shares: Mutex::default(),
            capacity,
        }
    }

    /// Returns a place for a record, which then has to be [queued](Self::record_at) there; `None` if there is no room.
    pub(super) fn place(&self) -> Option<QueuePlace> {
        Arc::clone(&self.room).try_acquire_owned().ok().map(|place| (place, None))
    }

    /// Returns a place for the record of a caller that cannot wait; `None` if the places for such callers are taken as
    /// well, or the share of `source`.
    pub(super) fn crowded_place(&self, source: Option<&str>) -> Option<QueuePlace> {
        let share = match source {
            Some(source) => Some(self.share_of(source)?),
            None => None,
        };
        let of_room = self.place().map(|(place, _)| place);
        let place = of_room.or_else(|| Arc::clone(&self.extra).try_acquire_owned().ok())?;
        Some((place, share))
    }

    /// Takes a place of the share of `source`, a quarter of all places; `None` if it has none left.
    fn share_of(&self, source: &str) -> Option<OwnedSemaphorePermit> {
        let places = (self.capacity / 2).max(1);
        let mut shares = self.shares.lock();
        shares.retain(|_, share| share.available_permits() < places);
        let share = shares.entry(source.into()).or_insert_with(|| Arc::new(Semaphore::new(places)));
        Arc::clone(share).try_acquire_owned().ok()
    }

    /// Waits for a [place](Self::place); `None` if the queue was closed, so that there will never be one again.
    pub(super) async fn wait_for_room(&self) -> Option<QueuePlace> {
        Arc::clone(&self.room).acquire_owned().await.ok().map(|place| (place, None))
    }

    /// Queues a record at its place.
    pub(super) fn record_at(&self, place: QueuePlace, events: Vec<AuditEvent>, waiter: Waiter) {
        self.push(Job::Record(RecordJob { events, waiter, _place: place }));
    }

    /// Returns the number of places that are taken.
    pub(super) fn len(&self) -> usize {
        (2 * self.capacity).saturating_sub(self.room.available_permits() + self.extra.available_permits())
    }

    /// Returns whether the places for callers that cannot wait are all taken.
    pub(super) fn is_overrun(&self) -> bool {
        self.room.available_permits() == 0 && self.extra.available_permits() == 0
    }

    /// Queues a job. A job that comes after the queue was closed is dropped, of which its waiter is informed.
    pub(super) fn push(&self, job: Job) {
        let mut waiting = self.waiting.lock();
        if self.is_closed() {
            return;
        }
        let is_awaited = !matches!(job, Job::Record(RecordJob { waiter: None, .. }));
        let becomes_urgent = !waiting.urgent && is_awaited;
        waiting.urgent |= becomes_urgent;
        waiting.jobs.push(job);
        // The writer sleeps when there is nothing to do, and while nothing is urgent.
        if waiting.jobs.len() == 1 || becomes_urgent || waiting.jobs.len() == waiting.awaited {
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
        self.room.close();
        self.extra.close();
        self.wake.notify_one();
        drop(waiting);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.room.is_closed()
    }

    /// Waits for jobs, at most for `patience`, and swaps them into `jobs`. Returns false when no more will come.
    pub(super) fn take(&self, jobs: &mut Vec<Job>, patience: Option<Duration>) -> bool {
        let mut waiting = self.waiting.lock();
        let is_idle = |waiting: &mut QueuedJobs| waiting.jobs.is_empty() && !self.is_closed();
        match patience {
            None => self.wake.wait_while(&mut waiting, is_idle),
            Some(patience) => {
                self.wake.wait_while_for(&mut waiting, is_idle, patience);
            }
        }
        let is_short =
            |queued: &mut QueuedJobs| (1..queued.awaited).contains(&queued.jobs.len()) && !self.is_closed();
        waiting.awaited = self.enough();
        self.wake.wait_while_for(&mut waiting, |waiting| !waiting.urgent && is_short(waiting), LINGER);
        // Callers that were answered together come back together, and one transaction for all costs less than several.
        waiting.awaited = if waiting.urgent { waiting.answered.min(self.enough()) } else { 0 };
        self.wake.wait_while_for(&mut waiting, is_short, GATHER);
        waiting.answered = if waiting.urgent { waiting.jobs.len() } else { 0 };
        waiting.urgent = false;
        mem::swap(&mut waiting.jobs, jobs);
        !(self.is_closed() && jobs.is_empty())
    }
}

/// The longest time that a record stays in the queue while nobody waits for it. A crash may lose that much, as
/// `Durability::Async` says; it is enough for a client that calls once a millisecond to fill a transaction.
const LINGER: Duration = Duration::from_millis(200);
/// The longest time for which the writer waits for callers to come back: a part of what a transaction takes.
const GATHER: Duration = Duration::from_micros(500);
/// The number of jobs at which the writer stops waiting for more, if the room is large.
const ENOUGH: usize = 256;
