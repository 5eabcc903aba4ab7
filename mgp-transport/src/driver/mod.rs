//! One connection: frames in, frames out, and the requests that wait for answers.

mod about;
mod correlate;
mod incoming;
mod lines;
mod wire;

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mgp_types::{Error, OutboxPort, RpcService};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Sleep, sleep};

use self::incoming::IncomingDispatcher;
use self::lines::{FramedLine, LineFramer};
use self::wire::Queue;
pub use self::wire::Wire;
use crate::{Accept, ConnectionLimits};

/// A connection over a byte stream, one frame per line. The connection works while it is polled.
///
/// Requests of the peer go to the service in the order they come. A call whose future is done at once is answered at
/// once; any other goes on in a task of its own, so that work never stops the connection. Answers and notifications are
/// written before more is read, and the connection does not read from a peer that does not read itself.
///
/// The future ends when the peer closes the stream, or with the error that broke it. Dropping it closes the connection
/// and aborts all work.
#[must_use = "a connection does nothing unless it is polled"]
pub struct Connection<R, W, S: RpcService> {
    reader: R,
    writer: W,
    lines: LineFramer,
    incoming: IncomingDispatcher<S>,
    /// The time limit of a peer that reads nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    /// The time that calls in work have to finish, once nothing more is read.
    drain: Option<Pin<Box<Sleep>>>,
    limits: ConnectionLimits,
}

/// Opens a connection: returns the way to the peer, and the future that carries it.
pub fn connect<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, A: Accept>(
    reader: R,
    writer: W,
    accept: &A,
    mut limits: ConnectionLimits,
) -> (Wire, Connection<R, W, A::Service>) {
    // Zero would stop the connection, and no queue has more places than a semaphore has permits.
    limits.max_queued = limits.max_queued.clamp(1, Semaphore::MAX_PERMITS);
    limits.max_unwritten_bytes = limits.max_unwritten_bytes.max(1);
    let (messages_in, messages) = mpsc::channel(limits.max_queued);
    let (reports_in, reports) = mpsc::unbounded_channel();
    let wire = Wire::new(messages_in, reports_in.clone(), limits.clone());
    let port: Arc<dyn OutboxPort> = Arc::new(wire.clone());
    let queue = Queue::new(messages, reports);
    let incoming = IncomingDispatcher::new(accept, port, queue, reports_in, &limits);
    let connection = Connection {
        reader,
        writer,
        lines: LineFramer::new(&limits),
        incoming,
        stalled: None,
        drain: None,
        limits,
    };
    (wire, connection)
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, S: RpcService> Connection<R, W, S> {
    /// Stops reading from the peer. Calls in work may go on for `drain`, and are answered; then the connection ends.
    pub fn end_reading(&mut self, drain: Duration) {
        self.incoming.lose_answers();
        self.drain = Some(Box::pin(sleep(drain)));
    }

    /// Carries the connection until the peer closes it, or `end` is done: then no more is read from the peer, and calls in
    /// work may go on for `drain`.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn run_until(mut self, end: impl Future<Output = ()>, drain: Duration) -> Result<(), Error> {
        tokio::select! {
            biased;
            ended = &mut self => return ended,
            () = end => {}
        }
        self.end_reading(drain);
        self.await
    }

    /// Reads frames and handles them. Returns whether any came.
    fn poll_frames(&mut self, cx: &mut Context<'_>) -> Result<bool, Error> {
        let mut any = false;
        loop {
            while self.incoming.writes.unwritten() < self.limits.max_unwritten_bytes {
                match self.incoming.poll_stalls(cx) {
                    Poll::Ready(has_waited) => any |= has_waited,
                    Poll::Pending => return Ok(any),
                }
                match self.lines.next() {
                    FramedLine::Frame(frame) => self.incoming.frame(&frame, cx),
                    FramedLine::TooLong(why, first) => self.incoming.too_long(why, &first),
                    FramedLine::Skipped(last) => self.incoming.skipped(&last),
                    FramedLine::Endless => {
                        return Err(Error::misbehaved("the peer sends a line without end"));
                    }
                    FramedLine::Partial => break,
                }
                any = true;
            }
            let congested = self.incoming.writes.unwritten() >= self.limits.max_unwritten_bytes;
            if any || congested || self.drain.is_some() {
                return Ok(any);
            }
            match pin!(self.reader.read_buf(self.lines.space())).poll(cx) {
                Poll::Pending => return Ok(false),
                Poll::Ready(Ok(0)) => {
                    if let Some(frame) = self.lines.rest() {
                        self.incoming.frame(&frame, cx);
                    }
                    self.end_reading(self.limits.drain_timeout);
                    return Ok(true);
                }
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Err(broken(error)),
            }
        }
    }

    /// Writes the waiting messages. Fails when the peer has read nothing for too long; a slow peer is waited for.
    fn poll_writes(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let waiting = self.incoming.writes.unwritten();
        match self.incoming.writes.poll_drain(Pin::new(&mut self.writer), cx) {
            Poll::Ready(result) => {
                self.stalled = None;
                Poll::Ready(result.map_err(broken))
            }
            Poll::Pending => {
                if self.incoming.writes.unwritten() < waiting {
                    self.stalled = None;
                }
                let timeout = self.limits.write_timeout;
                let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(timeout)));
                stalled.as_mut().poll(cx).map(|()| Err(Error::misbehaved("the peer does not read")))
            }
        }
    }

    /// Returns whether nothing more is read, and the calls in work are done or had their time.
    fn is_finished(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(patience) = &mut self.drain else { return false };
        self.incoming.waiting.theirs.is_empty() || patience.as_mut().poll(cx).is_ready()
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, S: RpcService> Future for Connection<R, W, S> {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let mut more = true;
        loop {
            if more {
                more = this.incoming.poll_queue(cx, this.limits.max_unwritten_bytes);
            }
            let written = this.poll_writes(cx)?.is_ready();
            if this.poll_frames(cx)? || (more && written) {
                continue;
            }
            if written && this.is_finished(cx) {
                return Pin::new(&mut this.writer).poll_shutdown(cx).map_err(broken);
            }
            return Poll::Pending;
        }
    }
}

/// A connection pins no field in place; the futures of its calls are boxed.
impl<R, W, S: RpcService> Unpin for Connection<R, W, S> {}

impl<R, W, S: RpcService> Drop for Connection<R, W, S> {
    fn drop(&mut self) {
        self.incoming.close();
    }
}

mgp_types::partial_debug!([R, W, S: RpcService] Connection<R, W, S>, self => in_work: self.incoming.waiting.theirs.len());

fn broken(error: io::Error) -> Error {
    Error::disconnected("the connection broke").with_source(error)
}

/// The bytes that wait to be written. Messages that come together leave together.
#[derive(Debug, Default)]
struct WriteBuffer {
    buffer: Vec<u8>,
    /// The number of bytes of the buffer that are written.
    written: usize,
    unflushed: bool,
}

const KEPT_CAPACITY: usize = 256 << 10;

impl WriteBuffer {
    /// Appends one message.
    fn message(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut start = self.buffer.len();
        write(&mut self.buffer);
        // JSON allows line ends between its tokens; a frame of one line does not.
        while let Some(at) = memchr::memchr2(b'\n', b'\r', &self.buffer[start..]) {
            self.buffer[start + at] = b' ';
            start += at + 1;
        }
        self.buffer.push(b'\n');
    }

    /// Returns how many bytes wait.
    #[inline]
    fn unwritten(&self) -> usize {
        self.buffer.len() - self.written
    }

    /// Writes and flushes all waiting bytes.
    fn poll_drain(
        &mut self,
        mut writer: Pin<&mut impl AsyncWrite>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.buffer.is_empty() && !self.unflushed {
            return Poll::Ready(Ok(()));
        }
        while self.written < self.buffer.len() {
            let wrote = writer.as_mut().poll_write(cx, &self.buffer[self.written..]);
            let Poll::Ready(wrote) = wrote? else {
                // The written bytes leave the buffer, so that a peer that never quite catches up does not make it grow.
                // Fewer bytes are moved than were written since the last time.
                if self.written >= self.unwritten() {
                    self.buffer.drain(..self.written);
                    self.written = 0;
                }
                return Poll::Pending;
            };
            if wrote == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += wrote;
            self.unflushed = true;
        }
        self.written = 0;
        self.buffer.clear();
        // One large message must not keep its memory for the rest of the connection.
        self.buffer.shrink_to(KEPT_CAPACITY);
        if self.unflushed {
            ready!(writer.poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_however_it_was_laid_out() {
        let mut writes = WriteBuffer::default();
        writes.message(|out| out.extend_from_slice(b"{\r\n  \"a\": \"\\n\"\n}"));
        writes.message(|out| out.extend_from_slice(b"{}"));
        assert_eq!(writes.buffer, b"{    \"a\": \"\\n\" }\n{}\n");
    }
    #[tokio::test]
    async fn a_peer_that_lags_behind_costs_what_it_lags_behind() {
        let (mut far, mut near) = tokio::io::duplex(512);
        let mut writes = WriteBuffer::default();
        for _ in 0..1000 {
            writes.message(|out| out.extend_from_slice(&[b'x'; 255]));
            let mut drain = |cx: &mut Context<'_>| writes.poll_drain(Pin::new(&mut near), cx).is_ready();
            if !std::future::poll_fn(move |cx| Poll::Ready(drain(cx))).await {
                tokio::io::AsyncReadExt::read_exact(&mut far, &mut [0; 256]).await.unwrap();
            }
        }
        assert!(writes.buffer.capacity() < 4096, "{}", writes.buffer.capacity());
    }
}
