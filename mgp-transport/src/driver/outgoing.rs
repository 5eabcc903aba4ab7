//! The buffer of messages that wait to be written.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// The bytes that wait to be written. Messages that come together leave together.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    buffer: Vec<u8>,
    /// The number of bytes of the buffer that are written.
    written: usize,
    unflushed: bool,
}

const KEPT_CAPACITY: usize = 256 << 10;

impl WriteBuffer {
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
    #[inline]
    pub(super) fn unwritten(&self) -> usize {
        self.buffer.len() - self.written
    }

    /// Writes and flushes all waiting bytes.
    #[inline]
    pub(super) fn poll_drain(
        &mut self,
        writer: Pin<&mut impl AsyncWrite>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.buffer.is_empty() && !self.unflushed {
            return Poll::Ready(Ok(()));
        }
        self.poll_write(writer, cx)
    }

    fn poll_write(
        &mut self,
        mut writer: Pin<&mut impl AsyncWrite>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.written < self.buffer.len() {
            let wrote = writer.as_mut().poll_write(cx, &self.buffer[self.written..]);
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
            ready!(writer.poll_flush(cx))?;
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
