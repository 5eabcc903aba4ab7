//! The buffer of messages that wait to be written, and the writer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// The bytes that wait to be written, and the writer. Messages that come together leave together.
#[derive(Debug)]
pub(super) struct WriteBuffer<W> {
    writer: W,
    buffer: Vec<u8>,
    /// The number of bytes of the buffer that are written.
    written: usize,
    unflushed: bool,
}

const KEPT_CAPACITY: usize = 256 << 10;

impl<W: AsyncWrite + Unpin> WriteBuffer<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { writer, buffer: Vec::new(), written: 0, unflushed: false }
    }

    /// Appends one message.
    pub(super) fn message(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
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
    pub(super) fn unwritten(&self) -> usize {
        self.buffer.len() - self.written
    }

    /// Writes and flushes all waiting bytes.
    #[inline]
    pub(super) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.buffer.is_empty() && !self.unflushed {
            return Poll::Ready(Ok(()));
        }
        self.poll_write(cx)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.buffer.len() {
            let wrote = Pin::new(&mut self.writer).poll_write(cx, &self.buffer[self.written..]);
            let Poll::Ready(wrote) = wrote? else {
                self.forget_written();
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
            ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Removes the written bytes from the buffer, so that a peer that never quite catches up does not make it grow.
    /// Fewer bytes are moved than were written since the last time.
    fn forget_written(&mut self) {
        if self.written >= self.unwritten() {
            self.buffer.drain(..self.written);
            self.written = 0;
        }
    }

    /// Tells the peer that no more messages come.
    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_however_it_was_laid_out() {
        let mut writes = WriteBuffer::new(Vec::new());
        writes.message(|out| out.extend_from_slice(b"{\r\n  \"a\": \"\\n\"\n}"));
        writes.message(|out| out.extend_from_slice(b"{}"));
        assert_eq!(writes.buffer, b"{    \"a\": \"\\n\" }\n{}\n");
    }
    #[tokio::test]
    async fn a_peer_that_lags_behind_costs_what_it_lags_behind() {
        let (mut far, near) = tokio::io::duplex(512);
        let mut writes = WriteBuffer::new(near);
        for _ in 0..1000 {
            writes.message(|out| out.extend_from_slice(&[b'x'; 255]));
            let drained = std::future::poll_fn(|cx| Poll::Ready(writes.poll_drain(cx).is_ready())).await;
            if !drained {
                tokio::io::AsyncReadExt::read_exact(&mut far, &mut [0; 256]).await.unwrap();
            }
        }
        assert!(writes.buffer.capacity() < 4096, "{}", writes.buffer.capacity());
    }
}
