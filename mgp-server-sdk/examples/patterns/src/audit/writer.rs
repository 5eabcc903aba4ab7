//! The one thread that writes events to the store, and the queue in front of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mgp_types::mgp::Timestamp;
use tokio::sync::oneshot;

use super::event::AuditRecord;
use super::retention::Retention;
use super::store::EventStore;

/// The queue of the writer.
#[derive(Debug, Clone)]
pub(super) struct EventQueue(SyncSender<Job>);

/// The thread that writes events.
#[derive(Debug)]
pub(super) struct EventWriter {
    queue: SyncSender<Job>,
    ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
enum Job {
    Store(Box<AuditRecord>),
    /// To be answered once everything before it is stored.
    Flush(oneshot::Sender<()>),
    End,
}

impl EventQueue {
    /// Queues an event, and blocks while the queue is full.
    pub(super) fn store(&self, record: AuditRecord) {
        if self.0.send(Job::Store(Box::new(record))).is_err() {
            tracing::error!("an event came after the end and is lost");
        }
    }

    /// Waits until all events that were queued before are stored, but not for ever.
    pub(super) async fn flush(&self) {
        let (done, finished) = oneshot::channel();
        let queue = self.0.clone();
        let flushed = async {
            let queued = tokio::task::spawn_blocking(move || queue.send(Job::Flush(done)).is_ok()).await;
            queued.is_ok_and(|queued| queued) && finished.await.is_ok()
        };
        if tokio::time::timeout(FLUSH_TIMEOUT, flushed).await != Ok(true) {
            tracing::warn!("the store cannot be written now: what is read lacks the newest events");
        }
    }
}

impl EventWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// Fails if the system starts no thread.
    pub(super) fn start(store: EventStore, retention: Retention) -> std::io::Result<Self> {
        let (queue, jobs) = sync_channel(QUEUED);
        let ending = Arc::new(AtomicBool::new(false));
        let writing = Writing { jobs, store, retention, ending: Arc::clone(&ending) };
        let thread = thread::Builder::new().name("audit-events".into()).spawn(move || writing.run())?;
        Ok(Self { queue, ending, thread })
    }

    /// Returns the queue of the thread.
    pub(super) fn queue(&self) -> EventQueue {
        EventQueue(self.queue.clone())
    }

    /// Stores what is queued, and ends the thread.
    pub(super) fn end(self) {
        self.ending.store(true, Ordering::Release);
        // A thread that is gone has nothing to end.
        let _ = self.queue.send(Job::End);
        if self.thread.join().is_err() {
            tracing::error!("the thread that stores events has failed");
        }
    }
}

struct Writing {
    jobs: Receiver<Job>,
    store: EventStore,
    retention: Retention,
    ending: Arc<AtomicBool>,
}

impl Writing {
    fn run(self) {
        let mut batch = Vec::new();
        let mut may_have_more_to_remove = true;
        loop {
            let pause = if may_have_more_to_remove { Duration::ZERO } else { LOOK_EVERY };
            let mut next = match self.jobs.recv_timeout(pause) {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            while let Some(job) = next.take() {
                match job {
                    Job::Store(record) => batch.push(*record),
                    Job::Flush(done) => {
                        self.store(&mut batch);
                        // Who asked may have left.
                        let _ = done.send(());
                    }
                    Job::End => return self.store(&mut batch),
                }
                next = if batch.len() < BATCH { self.jobs.try_recv().ok() } else { None };
            }
            self.store(&mut batch);
            may_have_more_to_remove =
                self.retention.remove_some(&self.store, Timestamp::now()).unwrap_or_else(|error| {
                    tracing::error!(?error, "old events cannot be removed; it will be tried again");
                    false
                });
        }
    }

    /// Stores the events of the batch in one transaction, and tries again until it is done.
    fn store(&self, batch: &mut Vec<AuditRecord>) {
        while !batch.is_empty() {
            match self.store.add(batch) {
                Ok(()) => batch.clear(),
                Err(error) if self.ending.load(Ordering::Acquire) => {
                    tracing::error!(%error, events = batch.len(), "events cannot be stored and are lost");
                    batch.clear();
                }
                Err(error) => {
                    tracing::error!(%error, "events cannot be stored; it will be tried again");
                    thread::sleep(RETRY_PAUSE);
                }
            }
        }
    }
}

/// How many events may wait to be written.
const QUEUED: usize = 4_096;
/// How many events are written in one transaction at most.
const BATCH: usize = 1_024;
/// How often old events are looked for while no new ones come.
const LOOK_EVERY: Duration = Duration::from_mins(1);
const RETRY_PAUSE: Duration = Duration::from_secs(1);
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
