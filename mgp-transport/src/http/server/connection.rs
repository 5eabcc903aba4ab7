//! One connection of a server, and the state of it that the server watches.
//!
//! A timer and a signal per connection would be polled with every request. Instead the server looks at its connections
//! now and then, and wakes those that it has an order for.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::body::HttpBody;
use super::config::{ConnectionAddrs, ConnectionMarker};
use super::connection_slots::ConnectionSlot;
use super::serve::HttpService;

/// The state of a connection that the server watches, and the server's order to it.
#[derive(Debug)]
pub(super) struct WatchedConnection {
    /// The place of the connection, until it has to make room for another.
    place: Mutex<Option<ConnectionSlot>>,
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
    /// The waker of the connection's task.
    task: Mutex<Option<Waker>>,
}

const SERVE: u8 = 0;
const FINISH: u8 = 1;
const END: u8 = 2;

impl WatchedConnection {
    pub(super) fn new(place: ConnectionSlot) -> Self {
        Self {
            place: Mutex::new(Some(place)),
            order: AtomicU8::new(SERVE),
            active: AtomicU64::new(0),
            awaited: AtomicU64::new(0),
            spoke: AtomicBool::new(false),
            began: Instant::now(),
            progress: AtomicU64::new(0),
            task: Mutex::new(None),
        }
    }

    /// Lets the connection end after its work.
    pub(super) fn finish(&self) {
        self.give(FINISH);
    }

    /// Ends the connection, which leaves its place at once.
    pub(super) fn end(&self) {
        drop(self.place.lock().take());
        self.give(END);
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
        self.order.load(Ordering::Acquire) == END
    }

    /// Returns whether the connection is for health alone.
    pub(super) fn is_reserved(&self) -> bool {
        self.with_place(ConnectionSlot::is_reserved).unwrap_or_default()
    }

    /// Calls `look` with the place of the connection, if it still has one.
    pub(super) fn with_place<T>(&self, look: impl FnOnce(&ConnectionSlot) -> T) -> Option<T> {
        self.place.lock().as_ref().map(look)
    }

    /// Notes that a request is in work until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> ActiveRequest {
        self.spoke.store(true, Ordering::Relaxed);
        self.active.fetch_add(1, Ordering::Relaxed);
        self.note_progress();
        ActiveRequest(Arc::clone(self))
    }

    fn give(&self, order: u8) {
        self.order.store(order, Ordering::Release);
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.wake();
        }
    }

    fn note_progress(&self) {
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.progress.store(millis, Ordering::Relaxed);
    }
}

/// Serves one connection to its end.
pub(super) async fn run<S: HttpService>(
    stream: TcpStream,
    service: S,
    max_buffer: usize,
    marks: Option<ConnectionMarker>,
    watched: Arc<WatchedConnection>,
) {
    // Answers are written in one piece, so waiting for more only delays them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY not set");
    }
    let marks = marks.and_then(|marks| {
        marks.of(ConnectionAddrs { peer: stream.peer_addr().ok()?, own: stream.local_addr().ok()? })
    });
    let is_reserved = watched.is_reserved();
    let service = service_fn({
        let watched = Arc::clone(&watched);
        move |mut request: http::Request<Incoming>| {
            if let Some(marks) = &marks {
                request.extensions_mut().extend(marks.clone());
            }
            let active = watched.begin();
            if is_reserved {
                request.extensions_mut().insert(HealthOnly);
            }
            let mut service = service.clone();
            async move {
                poll_fn(|cx| service.poll_ready(cx)).await?;
                service
                    .call(request)
                    .await
                    .map(|response| response.map(|body| GuardedBody { body, _active: active }))
            }
        }
    });
    let socket = WatchedSocket { inner: TokioIo::new(stream), watched: Arc::clone(&watched) };
    let mut builder = http1::Builder::new();
    builder.max_buf_size(max_buffer).header_read_timeout(None).keep_alive(!is_reserved);
    let connection = builder.serve_connection(socket, service);
    tokio::pin!(connection);
    let mut registered = false;
    let mut finishing = false;
    let served = poll_fn(|cx| {
        // The waker of a task stays the same, so one registration is enough.
        if !registered || watched.order.load(Ordering::Acquire) != SERVE {
            *watched.task.lock() = Some(cx.waker().clone());
            registered = true;
        }
        match watched.order.load(Ordering::Acquire) {
            SERVE => {}
            FINISH if finishing => {}
            FINISH => {
                finishing = true;
                connection.as_mut().graceful_shutdown();
            }
            _ => return Poll::Ready(Ok(())),
        }
        connection.as_mut().poll(cx)
    });
    if let Err(error) = CONNECTION.scope(Arc::clone(&watched), served).await {
        tracing::debug!(%error, "connection ended");
    }
}

/// A request in work, until the last byte of its answer was taken.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<WatchedConnection>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.note_progress();
        self.0.active.fetch_sub(1, Ordering::Release);
    }
}

tokio::task_local! {
    /// The connection whose task this is. An extension of each request would cost an allocation.
    static CONNECTION: Arc<WatchedConnection>;
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

/// The mark of requests on a connection that is there for health alone, because all others have requests in work.
#[derive(Debug, Clone, Copy)]
pub(super) struct HealthOnly;

struct GuardedBody {
    body: HttpBody,
    _active: ActiveRequest,
}

impl Body for GuardedBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A socket that notes when its peer takes written bytes. Bytes from the peer prove no progress, because they may come
/// one by one.
struct WatchedSocket {
    inner: TokioIo<TcpStream>,
    watched: Arc<WatchedConnection>,
}

impl Read for WatchedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl Write for WatchedSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        if written.is_ready() {
            self.watched.note_progress();
        }
        written
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
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, pieces);
        if written.is_ready() {
            self.watched.note_progress();
        }
        written
    }
}
