//! A connection in memory that can end in one direction, or be reset.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::sync::oneshot;

/// A connection in memory whose directions can end one without the other, or be reset.
pub(crate) struct Pipe {
    pub(crate) near: (Breakable, Breakable),
    pub(crate) far: Far,
}

/// The scripted end: dropping `reader` or `writer` closes that direction, as a process does.
pub(crate) struct Far {
    pub(crate) reader: DuplexStream,
    pub(crate) writer: DuplexStream,
    pub(crate) reset: Reset,
}

/// Breaks both directions at once; what was on its way is lost.
pub(crate) struct Reset([oneshot::Sender<()>; 2]);

/// The end under test.
pub(crate) struct Breakable {
    stream: DuplexStream,
    broken: oneshot::Receiver<()>,
    /// The progress of `broken`: it has not spoken yet, has spoken, or never will.
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    Watched,
    Broken,
    Safe,
}

impl Pipe {
    pub(crate) fn new(buffer_bytes: usize) -> Self {
        // One stream for each direction: halves of a single one cannot be closed apart.
        let (near_reader, writer) = tokio::io::duplex(buffer_bytes);
        let (near_writer, reader) = tokio::io::duplex(buffer_bytes);
        let (near_reader, reset_reader) = Breakable::new(near_reader);
        let (near_writer, reset_writer) = Breakable::new(near_writer);
        let reset = Reset([reset_reader, reset_writer]);
        Self { near: (near_reader, near_writer), far: Far { reader, writer, reset } }
    }
}

impl Reset {
    pub(crate) fn fire(self) {
        for direction in self.0 {
            // Fails if that end is gone.
            let _ = direction.send(());
        }
    }
}

impl Breakable {
    fn new(stream: DuplexStream) -> (Self, oneshot::Sender<()>) {
        let (reset, broken) = oneshot::channel();
        (Self { stream, broken, state: State::Watched }, reset)
    }

    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if let State::Watched = self.state
            && let Poll::Ready(fired) = Pin::new(&mut self.broken).poll(cx)
        {
            self.state = if fired.is_ok() { State::Broken } else { State::Safe };
        }
        match self.state {
            State::Broken => Err(io::ErrorKind::ConnectionReset.into()),
            State::Watched | State::Safe => Ok(()),
        }
    }
}

impl AsyncRead for Breakable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Breakable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
