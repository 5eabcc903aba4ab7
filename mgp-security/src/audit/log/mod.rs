//! The audit log: an append-only chain of events with one writer, and the queries on it.

mod chain;
mod entry;
mod open_calls;
mod queue;
mod reader;
mod recent;
mod store;
#[cfg(test)]
mod tests;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use mgp_store::{Reserve, unrecordable};
use mgp_types::mgp::{ActorType, AuditEvent, AuditPort, Outcome, ServerId, Timestamp};
use mgp_types::{BoxFuture, Error, Object};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

pub use self::chain::{LogFlaw, LogHead, VerifiedLog, VerifyError};
pub use self::entry::{EventFacets, LogEntry, with_place};
pub use self::reader::{Filter, LogSubscription, Order, Query};
pub use self::store::{LogStore, PRUNED, Retention};
pub use self::writer::{GAP, KERNEL_LOST};

use self::open_calls::OpenCalls;
use self::queue::{AuditLogState, Job};
use self::writer::{LogWriter, MAX_FORGOTTEN, answer, closed, kernel_lost};
use crate::{Clock, StoreError};

/// An audit log that takes events from many callers, writes them from one thread, and can tell whether any of them
/// was changed since.
///
/// Each event is linked to the one before by a digest, and a batch of events is one transaction, so that a record
/// costs only a share of a commit. Each handle states how durable an event is when its record is done: see
/// [`Durability`].
///
/// # What the chain proves
///
/// [`LogStore::verify`] finds events that were changed, removed, inserted or moved, and an end that was cut off, as
/// long as the attacker does not make links. Anybody who may write the file can make them, and so can rewrite the log
/// from any event on. A copy of [`head`](Self::head), kept where the attacker cannot write, reveals that: give it to
/// [`LogStore::verify`].
///
/// # Order and time
///
/// Events are in the order in which they were recorded, which is that of their numbers. It may differ from the order
/// of their timestamps, which hold the time that the clock showed. An event whose time is more than a second behind
/// that of the event before says so in `details.clock_behind_ms`.
///
/// Dropping the last handle writes all waiting records, and blocks until they are written.
#[derive(Debug, Clone)]
pub struct AuditLog {
    inner: Arc<AuditLogInner>,
    durability: Durability,
}

struct AuditLogInner {
    state: Arc<AuditLogState>,
    store: LogStore,
    open_calls: Option<Arc<OpenCalls>>,
    reserve: Option<Reserve>,
    thread: Option<JoinHandle<()>>,
}

/// The moment at which the record of an event counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// The record is done when the event is on the medium. If it cannot get there, the record ends in an error and
    /// the event is never written; once the log can be written again, an event of the type [`GAP`] tells how many
    /// were lost.
    #[default]
    BeforeReply,
    /// The record is done when the event has a place in the queue of the writer; a caller that finds no place waits
    /// for one. An event stays in the queue for a fifth of a second at most, to be written together with others, and
    /// is then written as soon as possible. A crash or a power cut loses the events in the queue. Closing the log and
    /// [`AuditLog::flush`] lose nothing. What an operator did is recorded as [`BeforeReply`](Self::BeforeReply) says.
    Async,
}

mgp_types::with_defaults! {
    /// The settings of an [`AuditLog`].
    #[derive(Debug)]
    pub struct AuditLogSettings {
        /// The number of records that may wait to be written before further callers have to wait as well.
        pub capacity: usize = 8_192,
        /// The clock for the log's own events and for retention.
        pub clock: Clock = Clock::default(),
        /// The file in which calls are noted before they are carried out. If the process that noted calls there before did
        /// not [end](AuditLog::end) in order, an event of the type [`KERNEL_LOST`] says so and names the calls that it may
        /// not have recorded.
        pub open_calls: Option<PathBuf> = None,
        /// The space with which events are written on a full disk that say that an operator takes a right away.
        pub reserve: Option<Reserve> = None,
    }
}

impl AuditLog {
    /// Opens the log in `store` with the usual settings.
    ///
    /// # Errors
    /// Fails if the store cannot be read, or if its end is not as it was left.
    pub fn open(store: LogStore) -> Result<Self, StoreError> {
        Self::with_settings(store, AuditLogSettings::default())
    }

    /// Opens the log in `store`. Only its end is checked; [`LogStore::verify`] checks all of it.
    ///
    /// # Errors
    /// Fails if the store cannot be read, if its end is not as it was left, or if the system cannot start a thread.
    pub fn with_settings(store: LogStore, settings: AuditLogSettings) -> Result<Self, StoreError> {
        let AuditLogSettings { capacity, clock, open_calls, reserve } = settings;
        let tail = store.tail()?;
        let head = chain::end(&tail)?;
        let unusable = |error| StoreError::Unavailable(Box::new(error));
        let open_calls = open_calls.map(|path| OpenCalls::open(&path)).transpose().map_err(unusable)?;
        let (open_calls, left) =
            open_calls.map_or((None, None), |(calls, left)| (Some(Arc::new(calls)), left));
        let lost = left.map(|left| kernel_lost(clock.now(), &left)).unwrap_or_default();
        let newest = tail.last.and_then(|last| Timestamp::from_millis(last.facets.millis));
        let state = Arc::new(AuditLogState::new(capacity, head));
        let writer = LogWriter {
            state: Arc::clone(&state),
            store: store.clone(),
            clock,
            head,
            newest: newest.unwrap_or(Timestamp::EPOCH),
            kept: Vec::new(),
            open_calls: open_calls.clone(),
            reserve: reserve.clone(),
            reported_at: Instant::now(),
        };
        let thread =
            thread::Builder::new().name("mgp-audit".into()).spawn(move || writer.run()).map_err(unusable)?;
        let inner = AuditLogInner { state, store, open_calls, reserve, thread: Some(thread) };
        inner.record_crowding(lost);
        Ok(Self { inner: Arc::new(inner), durability: Durability::default() })
    }

    mgp_types::setters! { #[must_use] self =>
        /// Returns a handle to the same log with another durability.
        pub fn with_durability(durability: Durability) => self.durability = durability;
    }

    /// Returns the head of the log as far as it is durable.
    pub fn head(&self) -> LogHead {
        *self.inner.state.head.borrow()
    }

    /// Returns the reason why calls are refused now: the log cannot be written, or only with the space that is reserved for
    /// what takes rights away. `None` while it can be written; the log finds that out by itself.
    pub fn fault(&self) -> Option<Error> {
        let is_spent = || self.inner.reserve.as_ref().is_some_and(Reserve::is_spent);
        self.inner.state.fault().or_else(|| is_spent().then(|| StoreError::Full.into()))
    }

    /// Returns a receiver of the durable head, which follows its changes.
    pub fn heads(&self) -> watch::Receiver<LogHead> {
        self.inner.state.head.subscribe()
    }

    /// Returns the number of records that wait to be written.
    pub fn queued(&self) -> usize {
        self.inner.state.queue.len()
    }

    /// Returns the store of the log, to read what is durable.
    pub fn reader(&self) -> LogStore {
        self.inner.store.clone()
    }

    /// Returns a subscription to the events behind the number `after`, and then to each further event when it is
    /// durable.
    pub fn subscribe(&self, after: u64) -> LogSubscription {
        let (state, store) = (&self.inner.state, self.reader());
        LogSubscription { store, head: state.head.subscribe(), recent: Arc::clone(&state.recent), after }
    }

    /// Waits until all events recorded before are durable.
    ///
    /// # Errors
    /// Fails if the log cannot be written now; events recorded with [`Durability::Async`] are kept to be tried again.
    pub async fn flush(&self) -> Result<(), Error> {
        let (done, finished) = oneshot::channel();
        self.inner.state.queue.push(Job::Flush(done));
        answer(finished).await
    }

    /// Waits until all events recorded before are durable, and notes that the log ends in order.
    ///
    /// # Errors
    /// Fails if the log cannot be written now.
    pub async fn end(&self) -> Result<(), Error> {
        self.flush().await?;
        self.inner.open_calls.iter().for_each(|calls| calls.remove());
        Ok(())
    }

    /// Removes the events that `rule` does not keep, from the oldest on up to the number `through`, and returns how many
    /// were removed.
    ///
    /// Events are removed in steps that let waiting records go first. Each step leaves a checkpoint and an event of
    /// the type [`PRUNED`], so that the rest of the log can still be verified.
    ///
    /// # Errors
    /// Fails if the log cannot be written.
    ///
    /// # Cancel safety
    /// Events that were removed stay removed; another call continues.
    pub async fn retain(&self, rule: Retention, through: u64) -> Result<u64, Error> {
        let mut total = 0;
        loop {
            let (done, finished) = oneshot::channel();
            self.inner.state.queue.push(Job::Forget { rule, through, done });
            let removed = answer(finished).await?;
            total += removed;
            // Fewer than a step may remove: the rule is met, except for the event that reports the removal.
            if removed < MAX_FORGOTTEN {
                return Ok(total);
            }
        }
    }
}

impl AuditPort for AuditLog {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        self.record_all(vec![event])
    }

    fn record_all(&self, events: Vec<AuditEvent>) -> BoxFuture<'_, Result<(), Error>> {
        let queue = &self.inner.state.queue;
        let is_awaited = self.durability == Durability::BeforeReply || events.iter().any(is_act);
        let (waiter, finished) = is_awaited.then(oneshot::channel).unzip();
        // Nothing waits here yet: the usual record is put into the queue before its future is polled.
        if queue.is_closed() {
            return Box::pin(async { Err(closed()) });
        }
        let crowded = if let Some(place) = queue.place() {
            queue.record_at(place, events, waiter);
            None
        } else {
            Some((WaitingEvents { inner: &self.inner, events: Some(events) }, waiter))
        };
        Box::pin(async move {
            if let Some((mut unplaced, waiter)) = crowded {
                let place = queue.wait_for_room().await.ok_or_else(closed)?;
                queue.record_at(place, unplaced.events.take().unwrap_or_default(), waiter);
            }
            match finished {
                Some(finished) => answer(finished).await,
                None => Ok(()),
            }
        })
    }

    fn try_record(&self, events: Vec<AuditEvent>) -> Result<(), Vec<AuditEvent>> {
        let queue = &self.inner.state.queue;
        if self.durability != Durability::Async || events.iter().any(is_act) {
            return Err(events);
        }
        // A closed queue has no place.
        let Some(place) = queue.place() else { return Err(events) };
        queue.record_at(place, events, None);
        Ok(())
    }

    fn record_now(&self, events: Vec<AuditEvent>) {
        self.inner.record_crowding(events);
    }

    fn open(&self, call: &dyn Fn() -> Object) -> Result<Option<u32>, Error> {
        let state = &self.inner.state;
        let behind = || unrecordable("the record cannot be kept: the log is behind", 1_000);
        let fault = state.queue.is_overrun().then(behind).or_else(|| self.fault());
        let noted = match (fault, &self.inner.open_calls) {
            (Some(fault), _) => Err(fault),
            (None, None) => Ok(None),
            (None, Some(calls)) => {
                calls.note(&call()).map(Some).map_err(|error| match StoreError::from(error) {
                    full @ StoreError::Full => state.set_full(full.into()),
                    error => Error::internal("the call cannot be noted, so it could not be recorded")
                        .with_source(error),
                })
            }
        };
        noted.inspect_err(|error| {
            let mut missing = state.missing.lock();
            missing.refused += 1;
            // The writer tells how many there are; a line for each would fill the disk that is full.
            if missing.refused == 1 {
                tracing::warn!(code = error.code(), "calls are refused because they cannot be recorded");
            }
        })
    }
}

/// Returns whether an event says that an operator did something. Such an event is durable before the act counts, because it
/// is all that tells who did it.
fn is_act(event: &AuditEvent) -> bool {
    event.actor.kind == ActorType::Operator && event.result == Outcome::Success
}

/// A record that waits for room in the queue. If it is dropped, its events are queued all the same.
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
        let Some(first) = events.first() else { return };
        // The kernel tells of servers.
        let server = first.target.server_id.as_ref().filter(|_| first.actor.kind == ActorType::Kernel);
        let source = server.map_or(&*first.actor.id, ServerId::as_str);
        // A call was admitted when it was opened.
        let source = events.iter().all(|event| event.ends.is_none()).then_some(source);
        match self.state.queue.crowded_place(source) {
            Some(place) => self.state.queue.record_at(place, events, None),
            None => self.state.count_unrecorded(events.len()),
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

mgp_types::partial_debug!(AuditLogInner, self => head: *self.state.head.borrow(), store: self.store);
