//! The log: an append-only chain of events with one writer, and what can be asked of it.

mod chain;
mod encode;
mod entry;
mod export;
mod filter;
mod memory;
mod queue;
mod reader;
mod retention;
#[cfg(feature = "sqlite")]
mod sqlite;
mod state;
mod store;
mod subscription;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use mgp_types::mgp::{AuditEvent, AuditPort, Timestamp};
use mgp_types::{BoxFuture, Error};
use tokio::sync::{oneshot, watch};

pub use self::chain::{ChainDigest, ChainKey, LogHead};
pub use self::entry::{EventFacets, LogEntry};
pub use self::export::{ExportError, Format};
pub use self::filter::{Filter, GroupBy, Order, Query};
pub use self::memory::MemoryLogStore;
pub use self::reader::{LogReader, Period, Stats};
pub use self::retention::{PRUNED, Retention};
#[cfg(feature = "sqlite")]
pub use self::sqlite::SqliteLogStore;
pub use self::store::{Checkpoint, Counts, LogStore, MAX_GROUPS, RemovalBound, RemovalReason, Tail};
pub use self::subscription::LogSubscription;
pub use self::verify::{LogFlaw, VerifiedLog, VerifyError};
pub use self::writer::GAP;

use self::chain::Chain;
use self::encode::Encoder;
use self::queue::Job;
use self::state::AuditLogState;
use self::writer::{LogWriter, MAX_FORGOTTEN, answer, closed};
use crate::{Clock, StoreError};

/// The audit log: takes events from many, writes them from one thread, and can tell whether anything was changed since.
///
/// Each event is linked to the one before by a digest, and a batch of them is one transaction, so that a record costs a
/// share of a commit. How safe an event is when its record is done is for each handle to say: see [`Durability`].
///
/// # What the chain proves
///
/// [`LogReader::verify`] finds an event that was changed, removed, put in or moved, and an end that was cut off, as long
/// as whoever did it cannot make links. Without a [key](AuditLogBuilder::key) anybody can who may write the file: they
/// can rewrite all of it from some event on. With a key they can only go back to an earlier state of the whole file.
/// Against that, and against both, helps a copy of [`head`](Self::head) in a place that they cannot write: give it to
/// [`LogReader::verify`].
///
/// # Order and time
///
/// Events are in the order in which they were recorded, which is that of their numbers, and not in that of their
/// timestamps: those are what the clock said. An event whose clock was more than a second behind that of the event before
/// says so in `details.clock_behind_ms`.
///
/// Dropping the last handle writes what waits, and blocks until it is written.
#[derive(Debug, Clone)]
pub struct AuditLog {
    inner: Arc<AuditLogInner>,
    durability: Durability,
}

struct AuditLogInner {
    state: Arc<AuditLogState>,
    store: Arc<dyn LogStore>,
    chain: Chain,
    thread: Option<JoinHandle<()>>,
}

/// When the record of an event is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// When the event is on the medium. If it cannot get there, the record ends in an error and is never written; an
    /// event of the type [`GAP`] tells how many there were, once the log can be written again.
    #[default]
    BeforeReply,
    /// When the event has a place in the queue of the writer. Who finds no place waits for one. What has a place lies
    /// there for a fifth of a second at most, for others to be written with it, and is then written as soon as it can be;
    /// an end of the process that nobody could prepare for, a crash or a power cut, loses what it finds there. Closing the
    /// log and [`AuditLog::flush`] lose nothing.
    Async,
}

/// What a log is opened with.
#[derive(Debug)]
#[must_use]
pub struct AuditLogBuilder {
    store: Arc<dyn LogStore>,
    key: Option<ChainKey>,
    capacity: usize,
    clock: Clock,
}

impl AuditLog {
    /// The log in `store`.
    pub fn builder(store: impl LogStore) -> AuditLogBuilder {
        AuditLogBuilder { store: Arc::new(store), key: None, capacity: CAPACITY, clock: Clock::default() }
    }

    /// Opens the log in `store` without a key.
    ///
    /// # Errors
    /// The store cannot be read, or its end is not as it was left.
    pub fn open(store: impl LogStore) -> Result<Self, StoreError> {
        Self::builder(store).open()
    }

    /// The same log with another promise.
    #[must_use]
    pub fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The end of what is durable.
    pub fn head(&self) -> LogHead {
        *self.inner.state.head.borrow()
    }

    /// The end of what is durable, as it changes.
    pub fn heads(&self) -> watch::Receiver<LogHead> {
        self.inner.state.head.subscribe()
    }

    /// What can be asked of the log.
    pub fn reader(&self) -> LogReader {
        LogReader::new(Arc::clone(&self.inner.store), self.inner.chain.clone())
    }

    /// The events behind the number `after`, and then each further one when it is durable.
    pub fn subscribe(&self, after: u64) -> LogSubscription {
        LogSubscription::new(self.reader(), self.inner.state.head.subscribe(), after)
    }

    /// Waits until everything recorded before is durable.
    ///
    /// # Errors
    /// It cannot be written now; what was not promised to anybody is kept.
    pub async fn flush(&self) -> Result<(), Error> {
        let (done, told) = oneshot::channel();
        self.inner.state.queue.push(Job::Flush(done));
        answer(told).await
    }

    /// Removes what `rule` does not keep, from the oldest on, and returns how many events that were.
    ///
    /// Each step leaves a checkpoint and an event of the type [`PRUNED`], so that the rest can still be verified, and
    /// lets waiting records go first.
    ///
    /// # Errors
    /// The log cannot be written.
    ///
    /// # Cancel safety
    /// What was removed stays removed; calling it again goes on.
    pub async fn retain(&self, rule: Retention) -> Result<u64, Error> {
        let mut total = 0;
        loop {
            let (done, told) = oneshot::channel();
            self.inner.state.queue.push(Job::Forget(rule, done));
            let removed = answer(told).await?;
            total += removed;
            // What a step leaves, beyond its bound, is what it was too much for; the event that tells of it may stay.
            if removed < MAX_FORGOTTEN {
                return Ok(total);
            }
        }
    }
}

impl AuditLogBuilder {
    /// A secret without which no link can be made, to be kept where those who may write the store cannot read it.
    pub fn key(mut self, key: ChainKey) -> Self {
        self.key = Some(key);
        self
    }

    /// How many records may wait to be written before whoever has another one waits too.
    pub fn capacity(mut self, records: usize) -> Self {
        self.capacity = records;
        self
    }

    /// The clock for the log's own events and for retention.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the log. Only its end is looked at; [`LogReader::verify`] looks at all of it.
    ///
    /// # Errors
    /// The store cannot be read, its end is not as it was left or was left with another key, or the system gives no
    /// thread.
    pub fn open(self) -> Result<AuditLog, StoreError> {
        let chain = Chain::new(self.key);
        let tail = self.store.tail()?;
        let head = verify::end(&chain, &tail)?;
        let newest = tail.last.and_then(|last| Timestamp::from_millis(last.facets.millis));
        let state = Arc::new(AuditLogState::new(self.capacity, head));
        let writer = LogWriter {
            state: Arc::clone(&state),
            store: Arc::clone(&self.store),
            chain: chain.clone(),
            clock: self.clock,
            head,
            newest: newest.unwrap_or(Timestamp::EPOCH),
            encoder: Encoder::default(),
            kept: Vec::new(),
        };
        let thread = thread::Builder::new()
            .name("mgp-audit".into())
            .spawn(move || writer.run())
            .map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        let inner = AuditLogInner { state, store: self.store, chain, thread: Some(thread) };
        Ok(AuditLog { inner: Arc::new(inner), durability: Durability::default() })
    }
}

impl AuditPort for AuditLog {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        self.record_all(vec![event])
    }

    fn record_all(&self, events: Vec<AuditEvent>) -> BoxFuture<'_, Result<(), Error>> {
        let queue = &self.inner.state.queue;
        let (waiter, told) = match self.durability {
            Durability::BeforeReply => {
                let (waiter, told) = oneshot::channel();
                (Some(waiter), Some(told))
            }
            Durability::Async => (None, None),
        };
        // Nothing here waits yet: the usual record is in the queue before its future is polled.
        if queue.is_closed() {
            return Box::pin(async { Err(closed()) });
        }
        let (waiter, crowded) = match queue.try_record(events, waiter) {
            Ok(()) => (None, None),
            Err((events, waiter)) => {
                (waiter, Some(WaitingEvents { inner: &self.inner, events: Some(events) }))
            }
        };
        Box::pin(async move {
            if let Some(mut unplaced) = crowded {
                if !queue.wait_for_room().await {
                    return Err(closed());
                }
                queue.record_in_room(unplaced.events.take().unwrap_or_default(), waiter);
            }
            match told {
                Some(told) => answer(told).await,
                None => Ok(()),
            }
        })
    }

    fn try_record(&self, events: Vec<AuditEvent>) -> Result<(), Vec<AuditEvent>> {
        let queue = &self.inner.state.queue;
        if self.durability != Durability::Async || queue.is_closed() {
            return Err(events);
        }
        queue.try_record(events, None).map_err(|(events, _)| events)
    }

    fn record_now(&self, events: Vec<AuditEvent>) {
        self.inner.record_crowding(events);
    }

    fn check(&self) -> Result<(), Error> {
        let state = &self.inner.state;
        let fault = if state.queue.is_overrun() { Some(behind()) } else { state.fault() };
        fault.map_or(Ok(()), |fault| {
            state.count_refused();
            Err(fault)
        })
    }
}

/// Events that wait for room; if nobody waits with them any more, they go in anyway.
struct WaitingEvents<'a> {
    inner: &'a AuditLogInner,
    events: Option<Vec<AuditEvent>>,
}

impl Drop for WaitingEvents<'_> {
    fn drop(&mut self) {
        if let Some(events) = self.events.take() {
            self.inner.record_crowding(events);
        }
    }
}

impl AuditLogInner {
    fn record_crowding(&self, events: Vec<AuditEvent>) {
        if let Err(events) = self.state.queue.record_crowding(events) {
            self.state.count_unrecorded(events.len());
        }
    }
}

impl Drop for AuditLogInner {
    fn drop(&mut self) {
        self.state.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for AuditLogInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = *self.state.head.borrow();
        f.debug_struct("AuditLogInner")
            .field("head", &head)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

fn behind() -> Error {
    Error::new(mgp_types::code::RESOURCE_EXHAUSTED, "the record cannot be kept: the log is behind")
}

/// A few hundred milliseconds of a busy kernel.
const CAPACITY: usize = 8_192;
