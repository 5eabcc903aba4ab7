//! The state of a connection that the server watches.
//!
//! A timer and a signal per connection would be polled with every request. Instead the server looks at its connections
//! now and then, and ends those whose time is over.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::connection_slots::SlotKind;

mgp_types::with_defaults! {
    /// The state of a connection that the server watches, and the ways to end it.
    #[derive(Debug)]
    pub(super) struct WatchedConnection {
        /// The place of the connection, which is free once the connection was told to end.
        pub(super) place: SlotKind = SlotKind::Reserved,
        /// True if the connection ends after its work.
        is_finishing: AtomicBool = AtomicBool::new(false),
        /// True if the connection has to end at once.
        is_ended: AtomicBool = AtomicBool::new(false),
        /// The number of requests whose answers were not taken yet.
        active: AtomicU64 = AtomicU64::new(0),
        /// The number of those requests that lack a part of their body.
        awaited: AtomicU64 = AtomicU64::new(0),
        /// True if a whole head was read.
        spoke: AtomicBool = AtomicBool::new(false),
        began: Instant = Instant::now(),
        /// The time of the last progress, in milliseconds since `began`: a head was read or a piece was written.
        progress: AtomicU64 = AtomicU64::new(0),
        /// The number of bytes of answers that were taken and not written yet.
        queued: AtomicU64 = AtomicU64::new(0),
        /// The waker of the connection's task, for the order to finish.
        pub(super) waker: AtomicWaker = AtomicWaker::new(),
        task: OnceLock<AbortHandle> = OnceLock::new(),
    }
}

impl WatchedConnection {
    pub(super) fn new(place: SlotKind) -> Self {
        Self { place, ..Self::default() }
    }

    /// Notes the task that serves the connection.
    pub(super) fn served_by(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    /// Lets the connection end after its work. One without any request ends after its first, which may be on its way.
    pub(super) fn finish(&self) {
        self.is_finishing.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Ends the connection, which leaves its place at once.
    pub(super) fn end(&self) {
        self.is_ended.store(true, Ordering::Release);
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    /// Returns whether the connection ends after its work.
    pub(super) fn is_finishing(&self) -> bool {
        self.is_finishing.load(Ordering::Acquire)
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
        self.is_ended.load(Ordering::Acquire)
    }

    /// Returns whether the connection is for health alone.
    pub(super) fn is_reserved(&self) -> bool {
        self.place == SlotKind::Reserved
    }

    /// Notes that a request is in work until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> ActiveRequest {
        self.spoke.store(true, Ordering::Relaxed);
        self.active.fetch_add(1, Ordering::Relaxed);
        if self.is_finishing() {
            self.waker.wake();
        }
        self.note_progress();
        ActiveRequest(Arc::clone(self))
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
pub(super) struct ActiveRequest(pub(super) Arc<WatchedConnection>);

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

/// A connection that notes when its peer takes written bytes. Bytes from the peer prove no progress, because they may
/// come one by one.
pub(super) struct WatchedIo<I> {
    pub(super) inner: I,
    pub(super) watched: Arc<WatchedConnection>,
}

impl<I: Read + Unpin> Read for WatchedIo<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<I: Write + Unpin> Write for WatchedIo<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(cx, bytes))?;
        self.watched.note_written(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write_vectored(cx, pieces))?;
        self.watched.note_written(written);
        Poll::Ready(Ok(written))
    }
}
