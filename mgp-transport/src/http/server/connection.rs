//! One connection of a server, and what the server sees of it from outside.
//!
//! A timer and a signal per connection would be polled with every request. Instead the server looks at its
//! connections now and then, and wakes the one it has an order for.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;

use super::body::HttpBody;
use super::config::{Ends, Marks};
use super::serve::HttpService;

/// What the server knows about a connection, and wants of it.
#[derive(Default)]
pub(super) struct Watched {
    order: AtomicU8,
    /// How many requests are in work.
    active: AtomicU64,
    /// Counts heads that were read and pieces that were written.
    progress: AtomicU64,
    /// What `progress` was when the server looked last; 0 if it has not looked yet.
    looked: AtomicU64,
    /// The task of the connection.
    task: Mutex<Option<Waker>>,
}

impl Watched {
    /// Lets the connection end after what is in work.
    pub(super) fn finish(&self) {
        self.give(FINISH);
    }

    /// Drops the connection if nothing has happened on it since the last look.
    pub(super) fn look(&self) {
        let now = self.progress.load(Ordering::Relaxed) + 1;
        let idle = self.looked.swap(now, Ordering::Relaxed) == now;
        if idle && self.active.load(Ordering::Acquire) == 0 {
            self.give(DROP);
        }
    }

    fn give(&self, order: u8) {
        self.order.store(order, Ordering::Release);
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.wake();
        }
    }

    fn note_progress(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }
}

/// Serves one connection to its end.
pub(super) async fn run<S: HttpService>(
    stream: TcpStream,
    service: S,
    max_buffer: usize,
    marks: Option<Marks>,
    watched: Arc<Watched>,
) {
    // Answers are written in one piece; waiting for more only delays them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY not set");
    }
    let marks = marks
        .and_then(|marks| marks.of(Ends { peer: stream.peer_addr().ok()?, own: stream.local_addr().ok()? }));
    let service = service_fn({
        let watched = Arc::clone(&watched);
        move |mut request: http::Request<Incoming>| {
            if let Some(marks) = &marks {
                request.extensions_mut().extend(marks.clone());
            }
            let active = Active::new(&watched);
            let mut service = service.clone();
            async move {
                poll_fn(|cx| service.poll_ready(cx)).await?;
                service
                    .call(request)
                    .await
                    .map(|response| response.map(|body| Guarded { body, _active: active }))
            }
        }
    });
    let socket = Socket { inner: TokioIo::new(stream), watched: Arc::clone(&watched) };
    let mut builder = http1::Builder::new();
    builder.max_buf_size(max_buffer).header_read_timeout(None);
    let connection = builder.serve_connection(socket, service);
    tokio::pin!(connection);
    let mut registered = false;
    let mut finishing = false;
    let outcome = poll_fn(|cx| {
        // The waker of a task stays the same, so once is enough.
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
    })
    .await;
    if let Err(error) = outcome {
        tracing::debug!(%error, "connection ended");
    }
}

const SERVE: u8 = 0;
const FINISH: u8 = 1;
const DROP: u8 = 2;

/// A request in work, until the last byte of its answer was taken.
struct Active(Arc<Watched>);

impl Active {
    fn new(watched: &Arc<Watched>) -> Self {
        watched.active.fetch_add(1, Ordering::Relaxed);
        watched.note_progress();
        Self(Arc::clone(watched))
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Release);
    }
}

struct Guarded {
    body: HttpBody,
    _active: Active,
}

impl Body for Guarded {
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

/// A socket that notes when its peer takes what is written. What the peer sends proves nothing: it may
/// come byte by byte.
struct Socket {
    inner: TokioIo<TcpStream>,
    watched: Arc<Watched>,
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl Write for Socket {
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
