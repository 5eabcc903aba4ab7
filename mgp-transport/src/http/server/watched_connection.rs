//! The state of a connection that the server watches.
//!
//! A timer and a signal per connection would be polled with every request. Instead the server looks at its connections
//! now and then, and wakes those that it has an order for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::connection_slots::SlotKind;

/// The state of a connection that the server watches, and the server's order to it.
#[derive(Debug)]
pub(super) struct WatchedConnection {
    /// The place of the connection, which is free once the connection was told to end.
    place: SlotKind,
    order: AtomicU8,
    /// The number of requests whose answers were not taken yet.
    active: AtomicU64,
    /// The number of those requests that lack a part of their body.
    awaited: AtomicU64,
    /// True if a whole head was read.
    spoke: AtomicBool,
    began: Instant,
    /// The time of the last progress, in milliseconds since `began`: a head was read or a piece was written.
    progress: AtomicU64,
    /// The number of bytes of answers that were taken and not written yet.
    queued: AtomicU64,
    /// The waker of the connection's task.
    task: Mutex<Option<Waker>>,
}

/// The server's order to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ConnectionOrder {
    Serve = 0,
    /// The connection ends after its work.
    Finish = 1,
    /// The connection ends at once.
    End = 2,
}

impl WatchedConnection {
    pub(super) fn new(place: SlotKind) -> Self {
        Self {
            place,
            order: AtomicU8::new(ConnectionOrder::Serve as u8),
            active: AtomicU64::new(0),
            awaited: AtomicU64::new(0),
            spoke: AtomicBool::new(false),
            began: Instant::now(),
            progress: AtomicU64::new(0),
            queued: AtomicU64::new(0),
            task: Mutex::new(None),
        }
    }

    /// Lets the connection end after its work.
    pub(super) fn finish(&self) {
        self.give(ConnectionOrder::Finish);
    }

    /// Ends the connection, which leaves its place at once.
    pub(super) fn end(&self) {
        self.give(ConnectionOrder::End);
    }

    /// Returns whether no request has come.
    pub(super) fn is_silent(&self) -> bool {
        !self.spoke.load(Ordering::Relaxed)
    }

    /// Returns whether a request has come without the whole of its body.
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::Acquire) > 0
    }

    /// Returns the moment since which the connection is idle; `None` while a whole request is in work, or when the
    /// connection has to end.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let in_work = self.active.load(Ordering::Acquire) > self.awaited.load(Ordering::Acquire);
        let is_idle = !in_work && !self.is_ended();
        is_idle.then(|| self.began + Duration::from_millis(self.progress.load(Ordering::Relaxed)))
    }

    /// Returns whether the connection has to end.
    pub(super) fn is_ended(&self) -> bool {
        self.order() == ConnectionOrder::End
    }

    /// Returns whether the connection is for health alone.
    pub(super) fn is_reserved(&self) -> bool {
        self.place == SlotKind::Reserved
    }

    pub(super) fn place(&self) -> SlotKind {
        self.place
    }

    /// Notes that a request is in work until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> ActiveRequest {
        self.spoke.store(true, Ordering::Relaxed);
        self.active.fetch_add(1, Ordering::Relaxed);
        self.note_progress();
        ActiveRequest(Arc::clone(self))
    }

    /// Returns the order, and has `cx` woken by the next one.
    pub(super) fn poll_order(&self, cx: &Context<'_>) -> ConnectionOrder {
        *self.task.lock() = Some(cx.waker().clone());
        self.order()
    }

    pub(super) fn order(&self) -> ConnectionOrder {
        match self.order.load(Ordering::Acquire) {
            0 => ConnectionOrder::Serve,
            1 => ConnectionOrder::Finish,
            _ => ConnectionOrder::End,
        }
    }

    fn give(&self, order: ConnectionOrder) {
        self.order.store(order as u8, Ordering::Release);
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.wake();
        }
    }

    pub(super) fn note_progress(&self) {
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.progress.store(millis, Ordering::Relaxed);
    }

    /// Notes that bytes of an answer wait to be written.
    pub(super) fn note_queued(&self, bytes: usize) {
        self.queued.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Notes that the peer took bytes, which is progress as far as bytes of answers waited: what answers the peer's pings is
    /// none.
    pub(super) fn note_written(&self, bytes: usize) {
        let rest = |queued: u64| (queued > 0).then(|| queued.saturating_sub(bytes as u64));
        if self.queued.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok() {
            self.note_progress();
        }
    }
}

/// A request in work, until the last byte of its answer was taken.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<WatchedConnection>);

impl ActiveRequest {
    /// Returns the connection of the request.
    pub(super) fn connection(&self) -> &WatchedConnection {
        &self.0
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.note_progress();
        self.0.active.fetch_sub(1, Ordering::Release);
    }
}

tokio::task_local! {
    /// The connection whose task this is. An extension of each request would cost an allocation.
    pub(super) static CONNECTION: Arc<WatchedConnection>;
}

/// A request with an incomplete body. Dropping it notes that the body is complete.
#[derive(Debug)]
pub(super) struct AwaitedBody(Arc<WatchedConnection>);

impl AwaitedBody {
    /// Notes an incomplete body for the connection whose task this is, if there is one.
    pub(super) fn begin() -> Option<Self> {
        let watched = CONNECTION.try_with(Arc::clone).ok()?;
        watched.awaited.fetch_add(1, Ordering::AcqRel);
        Some(Self(watched))
    }
}

impl Drop for AwaitedBody {
    fn drop(&mut self) {
        self.0.awaited.fetch_sub(1, Ordering::AcqRel);
    }
}
