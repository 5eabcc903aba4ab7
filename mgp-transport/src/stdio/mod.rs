//! This process' own standard input and output.

#[cfg(unix)]
mod unix;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(unix)]
use tokio::net::{UnixStream, unix::pipe};

/// Opens standard input and output as a byte stream.
///
/// Clients connect a server by pipes, or by sockets where they run on Node. Both are read without blocking and without
/// a thread. A pipe is opened anew first, so that its non-blocking mode belongs to this process and does not reach
/// other programs that hold the other end. A helper thread reads a terminal or a file, and every input on systems other
/// than Unix.
///
/// # Errors
/// A descriptor is closed or cannot be watched.
pub fn stdio() -> io::Result<(StdioInput, StdioOutput)> {
    Ok((StdioInput(Source::open()?), StdioOutput(Sink::open()?)))
}

/// Standard input.
#[derive(Debug)]
pub struct StdioInput(Source);

/// Standard output.
#[derive(Debug)]
pub struct StdioOutput(Sink);

#[derive(Debug)]
enum Source {
    #[cfg(unix)]
    Pipe(pipe::Receiver),
    #[cfg(unix)]
    Socket(UnixStream),
    Other(tokio::io::Stdin),
}

#[derive(Debug)]
enum Sink {
    #[cfg(unix)]
    Pipe(pipe::Sender),
    #[cfg(unix)]
    Socket(UnixStream),
    Other(tokio::io::Stdout),
}

#[cfg(not(unix))]
impl Source {
    #[expect(clippy::unnecessary_wraps, reason = "on Unix it can fail")]
    fn open() -> io::Result<Self> {
        Ok(Self::Other(tokio::io::stdin()))
    }
}

#[cfg(not(unix))]
impl Sink {
    #[expect(clippy::unnecessary_wraps, reason = "on Unix it can fail")]
    fn open() -> io::Result<Self> {
        Ok(Self::Other(tokio::io::stdout()))
    }
}

impl AsyncRead for StdioInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            #[cfg(unix)]
            Source::Pipe(pipe) => Pin::new(pipe).poll_read(cx, buf),
            #[cfg(unix)]
            Source::Socket(socket) => Pin::new(socket).poll_read(cx, buf),
            Source::Other(stdin) => Pin::new(stdin).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for StdioOutput {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            #[cfg(unix)]
            Sink::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
            #[cfg(unix)]
            Sink::Socket(socket) => Pin::new(socket).poll_write(cx, bytes),
            Sink::Other(stdout) => Pin::new(stdout).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            #[cfg(unix)]
            Sink::Pipe(pipe) => Pin::new(pipe).poll_flush(cx),
            #[cfg(unix)]
            Sink::Socket(socket) => Pin::new(socket).poll_flush(cx),
            Sink::Other(stdout) => Pin::new(stdout).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            #[cfg(unix)]
            Sink::Pipe(pipe) => Pin::new(pipe).poll_shutdown(cx),
            #[cfg(unix)]
            Sink::Socket(socket) => Pin::new(socket).poll_shutdown(cx),
            Sink::Other(stdout) => Pin::new(stdout).poll_shutdown(cx),
        }
    }
}
